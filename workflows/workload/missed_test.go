package workload

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/workflows/contract"
)

// missed is what a sweep says that read the workload at a fence.
func missed(fence int64) contract.Observation {
	return contract.Observation{Host: "h1", State: contract.RunAbsent, Sweep: &contract.SweepObservation{Fence: fence, Message: "gone"}}
}

func TestASweepSaysThatWhatRunsIsAbsent(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	running := func() *State {
		return &State{
			Name: "web", Wanted: WantRunning, WantedSeq: 1, DoneSeq: 1, Fence: 7, Generation: 2,
			Home: Home{
				Placement: &Placement{Host: "h1", Active: true},
				Deployed:  &Deployed{Generation: 2, Fence: 7, At: now.Add(-time.Hour)},
				Seen:      contract.Observation{Host: "h1", Fence: 7, LeaseNo: 3, Seq: 9, State: contract.RunRunning},
			},
		}
	}
	s := running()
	require.True(t, s.Observe(missed(7), now))
	require.Equal(t, contract.RunAbsent, s.Seen.State)
	require.Equal(t, int64(9), s.Seen.Seq, "what the agent says next is later than what it said last")
	require.False(t, s.Observe(missed(7), now), "once is enough")
	require.True(t, s.Observe(contract.Observation{Host: "h1", Fence: 7, LeaseNo: 3, Seq: 10, State: contract.RunRunning}, now))

	for name, change := range map[string]func(*State){
		"an action runs":         func(s *State) { s.Doing = &Doing{Fence: 8} },
		"something was done":     func(s *State) { s.Fence = 8 },
		"it moved":               func(s *State) { s.Placement.Host = "h2" },
		"it was stopped":         func(s *State) { s.Deployed = nil },
		"it is nowhere":          func(s *State) { s.Deployed, s.Placement = nil, nil },
		"its host is lost":       func(s *State) { s.HostLost = true },
		"something else is due":  func(s *State) { s.WantedSeq = 2 },
		"it is known to be gone": func(s *State) { s.Seen.State = contract.RunAbsent },
	} {
		t.Run(name, func(t *testing.T) {
			s := running()
			change(s)
			before := s.Seen
			require.False(t, s.Observe(missed(7), now))
			require.Equal(t, before, s.Seen)
		})
	}
}
