package supervise

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestWhatTheActionAnsweredIsNotToldAgain(t *testing.T) {
	started := time.Now()
	out := contract.StepOut{StartedAt: started, Ports: []string{"8080:80/tcp"}}
	done := record.Record{Workload: "web", Fence: 7, Finished: 7, FinishedOut: &out}
	same := contract.Observation{State: contract.RunRunning, StartedAt: started.UTC(), Ports: out.Ports, Fence: 7}
	for name, c := range map[string]struct {
		change   func(*Supervisor, *record.Record, *contract.Observation)
		answered bool
	}{
		"the same":             {func(*Supervisor, *record.Record, *contract.Observation) {}, true},
		"an earlier was told":  {func(s *Supervisor, _ *record.Record, _ *contract.Observation) { s.sent["web"] = sent{fence: 6} }, true},
		"it was told":          {func(s *Supervisor, _ *record.Record, _ *contract.Observation) { s.sent["web"] = sent{fence: 7} }, false},
		"there before a lease": {func(s *Supervisor, _ *record.Record, _ *contract.Observation) { s.owed["web"] = true }, false},
		"another start":        {func(_ *Supervisor, _ *record.Record, o *contract.Observation) { o.StartedAt = started.Add(1) }, false},
		"another address":      {func(_ *Supervisor, _ *record.Record, o *contract.Observation) { o.Addresses = []string{"10.0.0.2"} }, false},
		"a port is gone":       {func(_ *Supervisor, _ *record.Record, o *contract.Observation) { o.Ports = nil }, false},
		"unhealthy":            {func(_ *Supervisor, _ *record.Record, o *contract.Observation) { o.State = contract.RunUnhealthy }, false},
		"restarted":            {func(_ *Supervisor, _ *record.Record, o *contract.Observation) { o.Restarts = 1 }, false},
		"an attempt of a job":  {func(_ *Supervisor, r *record.Record, _ *contract.Observation) { r.Attempt = 1 }, false},
		"a later action began": {func(_ *Supervisor, r *record.Record, _ *contract.Observation) { r.Fence = 8 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Config{})
			r, o := done, same
			c.change(s, &r, &o)
			require.Equal(t, c.answered, s.answered(r, o))
			if c.answered {
				later, _ := s.fold("web", o, false, started)
				require.Negative(t, later, "it counts as told")
				o.State = contract.RunExited
				later, _ = s.fold("web", o, false, started)
				require.Zero(t, later, "what changes then is told at once")
			}
		})
	}
}

func TestANewLeaseIsToldEverything(t *testing.T) {
	w := watch(t, true, nil)
	w.hears("running", state(contract.RunRunning))
	w.mu.Lock()
	w.told = nil
	w.mu.Unlock()
	w.sup.Admit()
	w.hears("running, again", state(contract.RunRunning))
}

// flap is the n-th of many changes.
func flap(n int) contract.Observation {
	return contract.Observation{State: contract.RunRunning, Restarts: n}
}

func TestFold(t *testing.T) {
	s, now := New(Config{}), time.Now()
	for i := range foldBurst + 1 {
		later, _ := s.fold("web", flap(i), false, now)
		require.Zero(t, later, "the first changes go at once")
		later, _ = s.fold("web", flap(i), false, now)
		require.Negative(t, later, "the same is not said twice")
	}
	later, _ := s.fold("web", flap(98), false, now)
	require.Equal(t, foldMin, later, "a flood is folded, for a second at first")
	later, _ = s.fold("web", flap(99), false, now.Add(foldMin/2))
	require.Equal(t, foldMin/2, later)
	later, repeated := s.fold("web", flap(99), false, now.Add(foldMin))
	require.Zero(t, later)
	require.Equal(t, 2, repeated)
	later, _ = s.fold("web", contract.Observation{State: contract.RunExited, Exit: exited(1)}, true, now.Add(foldMin))
	require.Zero(t, later, "what is to be decided on is never held back")
	later, _ = s.fold("web", flap(100), false, now.Add(time.Hour))
	require.Zero(t, later)
	require.LessOrEqual(t, s.sent["web"].level, 1.0, "all is forgiven")
}

func TestTheSameEndIsToldOnceWheneverItIsNoticed(t *testing.T) {
	s, now := New(Config{}), time.Now()
	end := contract.Observation{State: contract.RunExited, StartedAt: now.Add(-time.Hour), Exit: exited(1)}
	later, _ := s.fold("vm", end, true, now)
	require.Zero(t, later)
	end.Exit = &contract.Exit{Code: 1, Outcome: end.Exit.Outcome, At: now.Add(time.Minute)}
	later, _ = s.fold("vm", end, true, now.Add(time.Minute))
	require.Negative(t, later)
}

// Whatever changes how fast, for however long: what is told is bounded, the last is told in the end, and is at most foldMax late.
func TestNoFloodIsTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, begin := New(Config{}), time.Now()
		now, told, due := begin, 0, time.Time{}
		last, lastTold := 0, 0
		say := func() {
			later, _ := s.fold("web", flap(last), false, now)
			switch {
			case later == 0:
				told, lastTold, due = told+1, last, time.Time{}
			case later > 0:
				require.LessOrEqual(t, later, foldMax)
				due = now.Add(later)
			}
		}
		for _, gap := range rapid.SliceOfN(rapid.Int64Range(1, int64(3*time.Second)), 1, 400).Draw(t, "gaps") {
			next := now.Add(time.Duration(gap))
			for !due.IsZero() && due.Before(next) {
				now = due
				say()
			}
			now = next
			last++
			say()
		}
		for !due.IsZero() {
			now = due
			say()
		}
		require.Equal(t, last, lastTold)
		bound := 2*foldBurst + 1 + int(now.Sub(begin)/foldMax)*2
		require.LessOrEqual(t, told, bound, "after %s", now.Sub(begin))
	})
}
