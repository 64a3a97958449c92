package workload

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
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

func TestASweepSaysThatTheHostHasSeenLaterActions(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	for name, job := range map[string]*v1.JobPolicy{"a service": nil, "a job": {MaxAttempts: 3}} {
		t.Run(name, func(t *testing.T) {
			s := &State{
				Name: "web", Wanted: WantRunning, WantedSeq: 1, DoneSeq: 1, Fence: 7, Generation: 2,
				Workload: v1.Workload{Kind: v1.KindContainer, Container: &v1.ContainerSpec{Common: v1.Common{Type: v1.TypeService}}},
				Home: Home{
					Placement: &Placement{Host: "h1", Active: true, Mutated: true},
					Deployed:  &Deployed{Generation: 2, Fence: 7, At: now.Add(-time.Hour)},
					Seen:      contract.Observation{Host: "h1", Fence: 7, LeaseNo: 3, Seq: 9, State: contract.RunRunning},
				},
			}
			if job != nil {
				s.Workload.Container.Type, s.Workload.Container.Job = v1.TypeJob, job
				s.Job = &Job{Count: 1, Numbered: 1}
			}
			later := missed(7)
			later.Sweep.Later = 9
			require.True(t, s.Observe(later, now))
			st := s.Status(now)
			require.Equal(t, v1.PhaseFailed, st.Phase)
			require.Equal(t, v1.ReasonStaleFence, st.Reason)
			require.Equal(t, "gone", st.Message)
			require.Contains(t, st.Advice, "berth delete web")
			require.Zero(t, st.RunningGeneration)
			require.Equal(t, Step{Kind: StepWait}, s.decide(now.Add(24*time.Hour)), "nothing is done unasked")
			require.Equal(t, int64(7), s.Fence)
			require.False(t, s.Observe(later, now), "once is enough")

			_, err := s.Ask(v1.VerbRetry, contract.VerbRequest{})
			require.NoError(t, err)
			step := s.decide(now)
			require.Equal(t, StepAct, step.Kind)
			require.Equal(t, v1.VerbDeploy, step.Action)
			s.Begin(step, now)
			s.Placed(contract.PlaceOut{Host: "h1"})
			s.Failed(&contract.Error{Reason: v1.ReasonStaleFence, Permanent: true, Seen: 9, Step: string(contract.StepStart)}, now)
			require.Greater(t, s.Fence, int64(8), "it goes on above what the host has seen")
			require.Equal(t, StepAct, s.decide(now).Kind)
		})
	}
}
