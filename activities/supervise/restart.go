package supervise

import (
	"context"
	"time"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	restartMin = 100 * time.Millisecond
	restartMax = time.Minute
	// restartForget is how long a workload must have run for its backoff to start anew, as Docker's own does.
	restartForget = 10 * time.Second
)

// restartState is the local backoff of one workload. It is lost with the process, which only makes the next try sooner.
type restartState struct {
	fence     int64
	wait      time.Duration
	planned   bool
	runningAt time.Time
}

func (s *Supervisor) noteRunning(workload string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.restarts[workload]; st != nil && st.runningAt.IsZero() {
		st.runningAt = time.Now()
	}
}

// restartLater plans the restart of a service that ended by itself, if its policy says so.
func (s *Supervisor) restartLater(ctx context.Context, rt step.Runtime, r record.Record, exit contract.Exit) {
	if !contract.RestartsAfter(r.Spec.Spec().Restart, exit, r.Restarts) || !s.Admitted() || !s.mayStart(r) {
		return
	}
	wait, ok := s.planRestart(r, time.Now())
	if !ok {
		return
	}
	s.Log.Info("workload ended by itself; it is started again", "workload", r.Workload, "fence", r.Fence, "code", exit.Code, "in", wait)
	timer := time.AfterFunc(wait, func() { s.restart(ctx, rt, r, exit) })
	context.AfterFunc(ctx, func() { timer.Stop() })
}

func (s *Supervisor) planRestart(r record.Record, now time.Time) (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.restarts[r.Workload]
	if st == nil || st.fence != r.Fence {
		st = &restartState{fence: r.Fence, wait: restartMin}
		s.restarts[r.Workload] = st
	}
	if st.planned {
		return 0, false
	}
	if !st.runningAt.IsZero() && now.Sub(st.runningAt) > restartForget {
		st.wait = restartMin
	}
	st.planned, st.runningAt = true, time.Time{}
	wait := st.wait
	st.wait = min(2*st.wait, restartMax)
	return wait, true
}

func (s *Supervisor) restart(ctx context.Context, rt step.Runtime, seen record.Record, exit contract.Exit) {
	defer s.Look(seen.Workload)
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if st := s.restarts[seen.Workload]; st != nil && st.fence == seen.Fence {
			st.planned = false
		}
	}()
	if ctx.Err() != nil {
		return
	}
	// The runtime's own restart is not the workload's fault, and is not counted.
	counted := exit.Outcome != v1.ReasonInterrupted
	err := s.Runner.Restart(ctx, rt, seen.Workload, counted, func(r record.Record) bool {
		return r.Fence == seen.Fence && !r.Open && r.Wanted == record.WantedRunning
	})
	if err != nil {
		s.Log.Warn("local restart failed", "workload", seen.Workload, "fence", seen.Fence, "error", err)
	}
}
