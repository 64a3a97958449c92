package supervise

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
				later, _ := s.fold("web", o, started)
				require.Negative(t, later, "it counts as told")
				o.State = contract.RunExited
				later, _ = s.fold("web", o, started)
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
