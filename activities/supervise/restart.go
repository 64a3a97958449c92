package supervise

import (
	"context"
	"time"

	"github.com/berth-dev/berth/activities/record"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	restartMin = 100 * time.Millisecond
	restartMax = time.Minute
	// restartForget is how long a workload must have run for its backoff to start anew, as Docker's own does.
	restartForget = 10 * time.Second
	// maxFailure bounds the text of why a restart failed, in bytes.
	maxFailure = 300
)

// restartState is the local backoff of one workload. It is lost with the process, which only makes the next try sooner.
type restartState struct {
	fence     int64
	wait      time.Duration
	runningAt time.Time
	// due is when the planned restart is to be done, and exit what it follows. Without a plan due is zero.
	due  time.Time
	exit contract.Exit
	// failed is why the last restart failed, if it did.
	failed string
}

func (s *Supervisor) noteRunning(workload string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.restarts[workload]; st != nil && st.runningAt.IsZero() {
		st.runningAt, st.failed = time.Now(), ""
	}
}

// restartLater plans the restart of a service that ended by itself, if its policy says so. It says how long that will take,
// and why the last one failed.
func (s *Supervisor) restartLater(r record.Record, exit contract.Exit) (in time.Duration, failed string) {
	if !mayRestart(r, exit) {
		return 0, ""
	}
	if !s.mayStart(r) {
		return 0, "" // it is looked at again once it may
	}
	if !s.Admitted() {
		s.looks.addLater(r.Workload, lookAgain)
		return 0, ""
	}
	now := time.Now()
	due, failed, fresh := s.planRestart(r, exit, now)
	in = max(time.Millisecond, due.Sub(now))
	if fresh {
		s.Log.Info("workload ended by itself; it is started again", "workload", r.Workload, "fence", r.Fence, "code", exit.Code, "in", in)
		s.starts.addLater(r.Workload, in)
	}
	return in, failed
}

// mayRestart reports whether the host starts a workload again.
func mayRestart(r record.Record, exit contract.Exit) bool {
	return r.Attempt == 0 && contract.RestartsAfter(r.Spec.Spec().Restart, exit, r.Restarts)
}

// planRestart says when the next restart is due. There is one at a time: fresh is false if it was planned before.
func (s *Supervisor) planRestart(r record.Record, exit contract.Exit, now time.Time) (due time.Time, failed string, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.restarts[r.Workload]
	if st == nil || st.fence != r.Fence {
		st = &restartState{fence: r.Fence, wait: restartMin}
		s.restarts[r.Workload] = st
	}
	if !st.due.IsZero() {
		st.exit = exit // it may be known better by now
		return st.due, st.failed, false
	}
	if !st.runningAt.IsZero() && now.Sub(st.runningAt) > restartForget {
		st.wait = restartMin
	}
	st.due, st.exit, st.runningAt = now.Add(st.wait), exit, time.Time{}
	st.wait = min(2*st.wait, restartMax)
	return st.due, st.failed, true
}

// restart does a planned restart, unless the record does not ask for it any more.
func (s *Supervisor) restart(ctx context.Context, workload string) {
	s.mu.Lock()
	st := s.restarts[workload]
	if st == nil || st.due.IsZero() {
		s.mu.Unlock()
		return
	}
	fence, exit := st.fence, st.exit
	s.mu.Unlock()
	defer s.Look(workload)
	err := s.startAgain(ctx, workload, fence, exit)
	s.mu.Lock()
	defer s.mu.Unlock()
	st.due, st.failed = time.Time{}, ""
	if err != nil {
		st.failed = contract.Clip("the restart failed: "+err.Error(), maxFailure)
		s.Log.Warn("local restart failed", "workload", workload, "fence", fence, "error", err)
	}
}

func (s *Supervisor) startAgain(ctx context.Context, workload string, fence int64, exit contract.Exit) error {
	r, err := s.Store.Get(workload)
	if err != nil {
		return err
	}
	rt, ok := s.runtimes[r.Kind]
	if !ok {
		return nil
	}
	// The runtime's own restart is not the workload's fault, and is not counted.
	counted := exit.Outcome != v1.ReasonInterrupted
	return s.Runner.Restart(ctx, rt, workload, counted, func(r record.Record) bool {
		return r.Fence == fence && !r.Open && r.Wanted == record.WantedRunning && mayRestart(r, exit)
	})
}
