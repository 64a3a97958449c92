package supervise

import (
	"github.com/berth-dev/berth/activities/record"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// explainStop tells the end of a strict workload that was stopped because the host's lease had ended from an end of its own:
// its exit code, which may well be zero, says nothing.
func (s *Supervisor) explainStop(r record.Record, o contract.Observation) {
	if isStrict(r) && o.State == contract.RunExited && o.Exit != nil && s.Strict != nil && s.Strict.WasStopped(r.Workload) {
		o.Exit.Outcome, o.Exit.Message = v1.ReasonInterrupted, "stopped, because the host had lost its lease"
	}
}

// mayStart reports whether a workload may be started again here. Who may not is looked at again when that changes.
func (s *Supervisor) mayStart(r record.Record) bool {
	if !isStrict(r) {
		return true
	}
	return s.Strict != nil && s.Strict.MayStart(r.Workload) == nil
}

func isStrict(r record.Record) bool {
	spec := r.Spec.Spec()
	return spec != nil && spec.Strict
}
