package workload

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// What is said of a workload that its host has no record of.
const (
	recordComesBack  = "its host had lost its record of it, and is given it again"
	recordStaysAway  = "its host has lost its record of it, and does not look after it: berth restart writes it anew"
	recordNotAdopted = "; it could not be given again: "
)

// Adopting is the giving of a lost record to the host. Asked is true while the host is asked.
type Adopting struct {
	Asked bool `json:"asked,omitempty"`
}

// unrecorded takes from a host that it has no record of what runs there. If that is what was deployed last and is to run, the
// host can be given the record again: nothing has been done since. Else a user has to say what is wanted.
func (s *State) unrecorded(o contract.Observation, now time.Time) bool {
	if s.Doing != nil || s.Deployed == nil || s.Placement == nil || s.Placement.Host != o.Host || s.Seen.Fence > s.Deployed.Fence {
		return false
	}
	message := recordStaysAway
	if s.mayAdopt(*o.Unrecorded) {
		message = recordComesBack
		if s.Adopting == nil {
			s.Adopting = &Adopting{}
		}
	}
	seen := contract.Observation{Host: o.Host, Fence: s.Deployed.Fence, Attempt: s.Deployed.Attempt, State: contract.RunRunning}
	if s.Seen.Fence == seen.Fence {
		seen = s.Seen // what the agent says next is later than what it said last
	}
	seen.Findings = []contract.Finding{{Reason: v1.ReasonRecordMissing, Message: message}}
	seen.Findings = s.dated(seen, now)
	s.Seen, s.RestartAt = seen, time.Time{} // nobody starts it again
	return true
}

// recordMissing reports whether the host was last heard to have no record of what was deployed.
func (s *State) recordMissing() bool {
	return slices.ContainsFunc(s.Seen.Findings, func(f contract.Finding) bool { return f.Reason == v1.ReasonRecordMissing })
}

// mayAdopt reports whether a mark is that of what was deployed last. A container that later actions kept has the mark of the
// first; an attempt of a job has its own. What is strict is started anew: its host must know the deadline before it runs.
func (s *State) mayAdopt(u contract.Unrecorded) bool {
	d := s.Deployed
	return s.Wanted == WantRunning && s.DoneSeq >= s.WantedSeq && s.Ended == nil && !s.Workload.Spec().Strict &&
		d.Generation == s.Generation && u.Generation == d.Generation && u.Fence <= d.Fence && (!s.isJob() || u.Fence == d.Fence)
}

// adoptDue reports whether the host is to be asked now.
func (s *State) adoptDue() bool {
	return s.Adopting != nil && !s.Adopting.Asked && s.Deployed != nil && s.Placement != nil && !s.HostLost
}

// Adopt begins to give the host its record again.
func (s *State) Adopt() contract.StepIn {
	s.Adopting.Asked = true
	return contract.StepIn{Spec: s.Workload, Ref: contract.Ref{
		Workload: s.Name, Kind: s.Workload.Kind, Generation: s.Deployed.Generation, Fence: s.Deployed.Fence, Attempt: s.Deployed.Attempt,
		Verb: v1.VerbDeploy,
	}}
}

// Adopted notes that the host has its record again, which it says itself by looking after the workload, or why not. It is asked
// again when it says the next time that it has none.
func (s *State) Adopted(err error) {
	s.Adopting = nil
	if err == nil {
		// Also where there was one already: the host was told to write it after it had said that there was none.
		s.Seen.Findings = slices.DeleteFunc(s.Seen.Findings, func(f contract.Finding) bool { return f.Reason == v1.ReasonRecordMissing })
		return
	}
	for i, f := range s.Seen.Findings {
		if f.Reason == v1.ReasonRecordMissing {
			s.Seen.Findings[i].Message = recordStaysAway + recordNotAdopted + contract.FromActivityError(err).Message
		}
	}
}

// forgetAdopting drops what was to be done about a lost record: there is one again, or an action writes it.
func (s *State) forgetAdopting() {
	if s.Adopting != nil && !s.Adopting.Asked {
		s.Adopting = nil
	}
}

// adopt gives the host its record again, beside the loop.
func (e *workloadEntity) adopt() {
	options := contract.AdoptActivity(contract.HostControlQueue(e.s.Placement.Host, e.s.Placement.Instance))
	in := e.s.Adopt()
	workflow.Go(e.Ctx, func(ctx workflow.Context) {
		ctx = workflow.WithActivityOptions(ctx, options)
		e.s.Adopted(workflow.ExecuteActivity(ctx, contract.ActivityAdopt, in).Get(ctx, nil))
		e.Wake()
	})
}
