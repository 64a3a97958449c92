package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

var now = time.UnixMilli(1_700_000_000_000)

func hello(instance string) contract.Hello {
	return contract.Hello{
		Host: "h1", Fleet: "f", Instance: instance, Contract: contract.Number,
		Capacity: v1.Amounts{CPUs: 2000, Memory: 1000},
		Runtimes: []v1.Runtime{
			{Name: "docker", Kinds: []v1.Kind{v1.KindContainer}, Ready: true},
			{Name: "libvirt", Kinds: []v1.Kind{v1.KindVM}, Message: "no socket"},
		},
	}
}

func online(t *testing.T) *State {
	t.Helper()
	s := &State{Timings: contract.DefaultTimings(), Phase: v1.HostJoining}
	w, ok := s.Hello(hello("i1"), now)
	require.True(t, ok)
	s.Live(contract.LeaseLive{LeaseNo: w.LeaseNo}, now)
	require.Equal(t, v1.HostOnline, s.Phase)
	return s
}

func ask(s *State, workload string, kind v1.Kind, memory v1.Bytes) contract.ReserveReply {
	return s.Reserve(contract.ReserveRequest{
		Workload: workload, Fence: 1, Needs: contract.Needs{Kind: kind, Amount: v1.Amounts{Memory: memory}},
	}, now)
}

func TestAnotherInstanceIsRefused(t *testing.T) {
	s := online(t)
	w, ok := s.Hello(hello("i2"), now)
	require.False(t, ok)
	require.Contains(t, w.Refused, "known as instance i1")
	require.EqualValues(t, 1, s.LeaseNo, "the refused one changes nothing")
	require.Equal(t, v1.HostOnline, s.Phase)
}

func TestTheSameInstanceTakesOverAtOnce(t *testing.T) {
	s := online(t)
	w, ok := s.Hello(hello("i1"), now)
	require.True(t, ok)
	require.EqualValues(t, 2, w.LeaseNo)
	s.Ended(contract.LeaseEnded{LeaseNo: 1}, now)
	require.Equal(t, v1.HostOnline, s.Phase, "the end of the earlier lease is nothing new")
}

func TestAnotherContractIsAdmittedCordoned(t *testing.T) {
	s := &State{Timings: contract.DefaultTimings(), Phase: v1.HostJoining}
	h := hello("i1")
	h.Contract++
	w, ok := s.Hello(h, now)
	require.True(t, ok)
	s.Live(contract.LeaseLive{LeaseNo: w.LeaseNo}, now)
	require.Equal(t, v1.ReasonNoMatchingHost, ask(s, "web", v1.KindContainer, 1).Reason)
	require.Contains(t, s.View().Message, "contract")
}

func TestAHostGrantsOnlyWhatItCanRun(t *testing.T) {
	s := online(t)
	r := ask(s, "web", v1.KindContainer, 1)
	require.True(t, r.Granted)
	require.Equal(t, "i1", r.Instance)
	r = ask(s, "vm", v1.KindVM, 1)
	require.Equal(t, v1.ReasonRuntimeUnavailable, r.Reason)
	require.Contains(t, r.Short, "no socket")
	s.Ended(contract.LeaseEnded{LeaseNo: 1, Message: "no beat"}, now)
	require.Equal(t, v1.ReasonHostOffline, ask(s, "db", v1.KindContainer, 1).Reason)
	require.Error(t, s.Bind(contract.BindRequest{Workload: "web", Fence: 1}, now), "an offline host refuses a bind")
}

func TestWhoWasRefusedIsWokenWhenThatMayHaveChanged(t *testing.T) {
	s := online(t)
	require.False(t, ask(s, "vm", v1.KindVM, 1).Granted)
	require.False(t, ask(s, "big", v1.KindContainer, 5000).Granted)
	s.outbox = nil
	h := hello("i1")
	h.Runtimes[1].Ready = true
	s.Capability(contract.Capability{LeaseNo: 1, Capacity: h.Capacity, Runtimes: h.Runtimes}, now)
	require.Equal(t, []notice{{"vm", contract.SignalWake}, {"big", contract.SignalWake}}, s.outbox)
	require.True(t, ask(s, "vm", v1.KindVM, 1).Granted)
	require.Empty(t, s.Waiting)
}

func TestALostHostTellsItsWorkloads(t *testing.T) {
	s := online(t)
	require.True(t, ask(s, "web", v1.KindContainer, 1).Granted)
	s.outbox = nil
	s.Ended(contract.LeaseEnded{LeaseNo: 1}, now)
	require.Equal(t, []notice{{"web", contract.SignalHostLost}}, s.outbox)
	s.outbox = nil
	w, _ := s.Hello(hello("i1"), now)
	s.Live(contract.LeaseLive{LeaseNo: w.LeaseNo}, now)
	require.Equal(t, []notice{{"web", contract.SignalHostBack}}, s.outbox)
}

func TestAnAgentThatSaysGoodbyeLeaves(t *testing.T) {
	s := online(t)
	require.True(t, ask(s, "web", v1.KindContainer, 1).Granted)
	s.outbox = nil
	s.Ended(contract.LeaseEnded{LeaseNo: 1, Left: true}, now)
	require.Equal(t, v1.HostLeft, s.Phase)
	require.Empty(t, s.outbox, "its workloads run on, and are not lost")
}

// One that is refused settles on what it held before. If that woke it, it would ask again and again without a pause.
func TestASettleThatFreesNothingWakesNobody(t *testing.T) {
	s := online(t)
	held := contract.Needs{Kind: v1.KindContainer, Amount: v1.Amounts{Disk: 0}}
	require.True(t, ask(s, "stopped", v1.KindContainer, 0).Granted)
	require.True(t, ask(s, "big", v1.KindContainer, 1000).Granted)
	again := contract.ReserveRequest{
		Workload: "stopped", Fence: 2, Needs: contract.Needs{Kind: v1.KindContainer, Amount: v1.Amounts{Memory: 500}},
	}
	require.False(t, s.Reserve(again, now).Granted)
	s.outbox = nil
	s.Settle(contract.SettleRequest{Workload: "stopped", Fence: 2, Needs: held})
	require.Empty(t, s.outbox)
	require.Equal(t, []string{"stopped"}, s.Waiting)

	s.Release(contract.ReleaseRequest{Workload: "big", Fence: 1}, now)
	require.Equal(t, []notice{{workload: "stopped", signal: contract.SignalWake}}, s.outbox)
}

func TestALapsedGrantWakesWhoWaits(t *testing.T) {
	s := online(t)
	require.True(t, ask(s, "slow", v1.KindContainer, 1000).Granted)
	require.False(t, ask(s, "next", v1.KindContainer, 1000).Granted)
	s.Expire(now.Add(s.Timings.Grant))
	require.Equal(t, []notice{{workload: "next", signal: contract.SignalWake}}, s.outbox[len(s.outbox)-1:])
}
