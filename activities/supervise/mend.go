package supervise

import (
	"context"
	"time"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// mendedFor is how long it is told that something was put right.
const mendedFor = 10 * time.Minute

// mended is the last time that something about a workload was put right, or could not be.
type mended struct {
	fence  int64
	at     time.Time
	reason v1.Reason
	// done is what was put right, failed why it could not be: one of the two is set.
	done, failed string
}

// explainMend adds to what a look found what has become of it.
func (s *Supervisor) explainMend(r record.Record, o *contract.Observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.mended[r.Workload]
	if ok && (last.fence != r.Fence || time.Since(last.at) > mendedFor) {
		delete(s.mended, r.Workload)
		ok = false
	}
	switch {
	case !o.Mend && ok && last.done != "":
		o.Findings = append(o.Findings, contract.Finding{Reason: last.reason, Message: last.done})
		s.looks.addLater(r.Workload, time.Until(last.at.Add(mendedFor))+time.Second)
	case o.Mend && ok && last.failed != "":
		o.Findings[0].Message += "; " + last.failed
	case o.Mend:
		o.Findings[0].Message += "; its host puts that right"
	}
}

// mendLater has put right what a look found, if that is the host's to do.
func (s *Supervisor) mendLater(r record.Record, o contract.Observation) {
	if !o.Mend {
		return
	}
	if !s.Admitted() {
		s.looks.addLater(r.Workload, lookAgain)
		return
	}
	s.mu.Lock()
	failed := s.mended[r.Workload].failed != ""
	s.mu.Unlock()
	if failed {
		s.mends.addLater(r.Workload, mendAgain)
		return
	}
	s.mends.add(r.Workload)
}

// mend puts right what the last look found, unless the record does not ask for it any more.
func (s *Supervisor) mend(ctx context.Context, workload string) {
	s.mu.Lock()
	seen := s.seen[workload]
	s.mu.Unlock()
	rt, ok := s.runtimes[seen.record.Kind].(step.Mender)
	if !ok || len(seen.observation.Findings) == 0 {
		return
	}
	fence := seen.record.Fence
	done, err := s.Runner.Mend(ctx, rt, workload, func(r record.Record) bool {
		return r.Fence == fence && !r.Open && r.Wanted == record.WantedRunning && r.Exit == nil
	})
	if done == "" && err == nil {
		return
	}
	now := mended{fence: fence, at: time.Now(), reason: seen.observation.Findings[0].Reason, done: done}
	if err != nil {
		now.done, now.failed = "", contract.Clip("that could not be put right: "+err.Error(), maxFailure)
		s.Log.Warn("what was found of a workload could not be put right", "workload", workload, "fence", fence, "error", err)
	} else {
		s.Log.Info("put right: "+done, "workload", workload, "fence", fence)
	}
	s.mu.Lock()
	s.mended[workload] = now
	s.mu.Unlock()
	s.Look(workload)
}
