package host

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// holding is an online host with bound workloads w0, w1, …
func holding(t *testing.T, n int) *State {
	t.Helper()
	s := online(t)
	for i := range n {
		name := fmt.Sprintf("w%d", i)
		require.True(t, ask(s, name, v1.KindContainer, 10).Granted)
		require.NoError(t, s.Bind(contract.BindRequest{Workload: name, Fence: 1}, now))
	}
	s.outbox = nil
	return s
}

// told are the drain's messages since the last call, by workload.
func told(s *State) map[string]contract.HostDrain {
	s.advanceDrain(now)
	out := map[string]contract.HostDrain{}
	for _, n := range s.outbox {
		if d, ok := n.arg.(contract.HostDrain); ok {
			out[n.to] = d
		}
	}
	s.outbox = nil
	return out
}

func answers(s *State, workload string, standing v1.DrainStanding) {
	s.DrainStanding(contract.DrainStanding{Workload: workload, Seq: s.Drain.Told[workload].Seq, Standing: standing})
}

func drain(s *State, r v1.DrainRequest) { s.Change(contract.HostChange{Drain: &r}, now) }

func TestADrainTellsAFewAtATime(t *testing.T) {
	s := holding(t, 4)
	drain(s, v1.DrainRequest{MaxParallel: 2})
	require.True(t, s.Cordoned)
	require.Len(t, told(s), 2)
	require.Empty(t, told(s), "nobody is told twice")
	answers(s, "w0", v1.DrainStaying)
	require.Contains(t, told(s), "workload/w2", "who stays is not on the way")
	answers(s, "w1", v1.DrainMoving)
	require.Empty(t, told(s))
	s.Release(contract.ReleaseRequest{Workload: "w1", Fence: 2}, now)
	require.Contains(t, told(s), "workload/w3")

	view := s.View().Drain
	require.Equal(t, 1, view.Gone)
	require.Equal(t, 3, view.Left)
	require.Nil(t, view.EndedAt)
	answers(s, "w0", v1.DrainStopped)
	for _, name := range []string{"w2", "w3"} {
		s.Release(contract.ReleaseRequest{Workload: name, Fence: 2}, now)
	}
	told(s)
	view = s.View().Drain
	require.Equal(t, []v1.DrainedWorkload{{Name: "w0", Standing: v1.DrainStopped}}, view.Workloads)
	require.NotNil(t, view.EndedAt, "only data is left")
}

func TestADrainsTermsCanBeChangedAndItCanBeEnded(t *testing.T) {
	s := holding(t, 1)
	drain(s, v1.DrainRequest{})
	require.True(t, told(s)["workload/w0"].StopAt.IsZero())
	old := s.Drain.Told["w0"].Seq
	drain(s, v1.DrainRequest{Deadline: v1.Duration(time.Minute)})
	n := told(s)["workload/w0"]
	require.Equal(t, now.Add(time.Minute), n.StopAt)
	s.DrainStanding(contract.DrainStanding{Workload: "w0", Seq: old, Standing: v1.DrainStopped})
	require.Empty(t, s.Drain.Told["w0"].Standing, "an answer to what was asked before")
	drain(s, v1.DrainRequest{Force: true})
	require.Equal(t, now, told(s)["workload/w0"].StopAt)

	off := false
	s.Change(contract.HostChange{Cordon: &off}, now)
	require.Nil(t, s.View().Drain)
	require.True(t, func() bool {
		for _, m := range s.outbox {
			if d, ok := m.arg.(contract.HostDrain); ok && d.Cancelled && d.Seq > n.Seq {
				return true
			}
		}
		return false
	}())
}

func TestAHostThatLeavesSaysSo(t *testing.T) {
	s := holding(t, 1)
	drain(s, v1.DrainRequest{})
	require.False(t, told(s)["workload/w0"].Left)
	s.Ended(contract.LeaseEnded{LeaseNo: s.LeaseNo, Left: true}, now)
	require.True(t, told(s)["workload/w0"].Left)
	w, _ := s.Hello(hello("i1"), now)
	s.Live(contract.LeaseLive{LeaseNo: w.LeaseNo}, now)
	require.False(t, told(s)["workload/w0"].Left)
}

func TestWhoDidNotKnowItsPlaceYetIsToldAgain(t *testing.T) {
	s := online(t)
	require.True(t, ask(s, "w0", v1.KindContainer, 10).Granted)
	drain(s, v1.DrainRequest{})
	require.Len(t, told(s), 1)
	require.NoError(t, s.Bind(contract.BindRequest{Workload: "w0", Fence: 1}, now))
	require.Len(t, told(s), 1)
	answers(s, "w0", v1.DrainMoving)
	require.NoError(t, s.Bind(contract.BindRequest{Workload: "w0", Fence: 1}, now))
	require.Empty(t, told(s))
}

func TestAWorkloadThatNobodyKnowsDoesNotHoldADrainUp(t *testing.T) {
	s := holding(t, 1)
	drain(s, v1.DrainRequest{})
	s.advanceDrain(now)
	for _, n := range s.outbox {
		if n.signal == contract.SignalDrain {
			n.gone()
		}
	}
	told(s)
	require.NotNil(t, s.View().Drain.EndedAt)
}

func TestAnEmptyHostIsDrainedAtOnce(t *testing.T) {
	s := online(t)
	drain(s, v1.DrainRequest{})
	told(s)
	require.NotNil(t, s.View().Drain.EndedAt)
	require.False(t, ask(s, "new", v1.KindContainer, 1).Granted)
}
