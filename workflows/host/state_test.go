package host

import (
	"encoding/json"
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
	return reserveAs(s, workload, kind, memory, false)
}

func reserveAs(s *State, workload string, kind v1.Kind, memory v1.Bytes, passed bool) contract.ReserveReply {
	return s.Reserve(contract.ReserveRequest{
		Workload: workload, Fence: 1, Passed: passed, Needs: contract.Needs{Kind: kind, Amount: v1.Amounts{Memory: memory}},
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

// offered are the rooms in the outbox, and empties it.
func offered(s *State) (rooms []contract.Room) {
	for _, n := range s.outbox {
		if r, ok := n.arg.(contract.Room); ok {
			rooms = append(rooms, r)
		}
	}
	s.outbox = nil
	return rooms
}

func TestRoomIsOfferedWhenARuntimeComes(t *testing.T) {
	s := online(t)
	require.False(t, ask(s, "vm", v1.KindVM, 1).Granted)
	s.outbox = nil
	h := hello("i1")
	h.Runtimes[1].Ready = true
	s.Capability(contract.Capability{LeaseNo: 1, Capacity: h.Capacity, Runtimes: h.Runtimes}, now)
	rooms := offered(s)
	require.Len(t, rooms, 1)
	require.Equal(t, []v1.Kind{v1.KindContainer, v1.KindVM}, rooms[0].Kinds)
	require.True(t, reserveAs(s, "vm", v1.KindVM, 1, true).Granted)
}

func TestANewcomerMustAskTheQueueWhereOthersWereRefused(t *testing.T) {
	s := online(t)
	require.True(t, ask(s, "web", v1.KindContainer, 600).Granted)
	require.False(t, ask(s, "big", v1.KindContainer, 500).Granted)
	reply := ask(s, "small", v1.KindContainer, 100)
	require.True(t, reply.AskAhead)
	require.EqualValues(t, 400, reply.Room.Free.Memory)
	require.True(t, reserveAs(s, "small", v1.KindContainer, 100, true).Granted)
	require.True(t, s.Reserve(contract.ReserveRequest{
		Workload: "web", Fence: 2, Needs: contract.Needs{Kind: v1.KindContainer, Amount: v1.Amounts{Memory: 500}},
	}, now).Granted, "who holds room here is no newcomer")
	later := now.Add(contendedFor)
	require.False(t, s.Reserve(contract.ReserveRequest{Workload: "x", Fence: 1, Needs: contract.Needs{Kind: v1.KindContainer}}, later).AskAhead)
}

// A waiter keeps a newcomer out of what it could have itself, and of nothing else.
func TestOnlyAWaiterThatTheHostWouldTakeGoesBefore(t *testing.T) {
	port := []contract.PortClaim{{Port: 80, Protocol: "tcp"}}
	needs := func(change func(*contract.Needs)) contract.Needs {
		n := contract.Needs{Kind: v1.KindContainer, Amount: v1.Amounts{Memory: 100}}
		change(&n)
		return n
	}
	waits := func(change func(*contract.Waiter)) contract.Waiter {
		w := contract.Waiter{Workload: "waits", Fence: 1, Needs: needs(func(*contract.Needs) {})}
		change(&w)
		return w
	}
	for name, c := range map[string]struct {
		waiter contract.Waiter
		before bool
	}{
		"it fits":                    {waits(func(*contract.Waiter) {}), true},
		"its port is taken":          {waits(func(w *contract.Waiter) { w.Needs.Ports = port }), false},
		"its device is taken":        {waits(func(w *contract.Waiter) { w.Needs.Devices = []string{"/dev/a"} }), false},
		"it is to be apart":          {waits(func(w *contract.Waiter) { w.Needs.Apart, w.Needs.Labels = "app", map[string]string{"app": "a"} }), false},
		"it needs too much":          {waits(func(w *contract.Waiter) { w.Needs.Amount.Memory = 901 }), false},
		"its runtime is not ready":   {waits(func(w *contract.Waiter) { w.Needs.Kind = v1.KindVM }), false},
		"its data is elsewhere":      {waits(func(w *contract.Waiter) { w.Instance = "another" }), false},
		"it was released since":      {waits(func(w *contract.Waiter) { w.Workload = "gone" }), false},
		"it has its reservation yet": {waits(func(w *contract.Waiter) { w.Workload, w.Fence, w.Needs.Ports = "holder", 2, port }), true},
	} {
		t.Run(name, func(t *testing.T) {
			s := online(t)
			require.True(t, s.Reserve(contract.ReserveRequest{Workload: "holder", Fence: 1, Needs: needs(func(n *contract.Needs) {
				n.Ports, n.Devices, n.Labels = port, []string{"/dev/a"}, map[string]string{"app": "a"}
			})}, now).Granted)
			s.Release(contract.ReleaseRequest{Workload: "gone", Fence: 1}, now)
			require.False(t, ask(s, "refused", v1.KindContainer, 5000).Granted)
			reply := s.Reserve(contract.ReserveRequest{
				Workload: "newcomer", Fence: 1, Passed: true, Ahead: []contract.Waiter{c.waiter}, Needs: needs(func(*contract.Needs) {}),
			}, now)
			require.Equal(t, !c.before, reply.Granted, reply.Short)
			if c.before {
				require.Equal(t, "queued behind "+c.waiter.Workload, reply.Short)
			}
		})
	}
}

func TestAdminsCordonAndSwitchRuntimesOff(t *testing.T) {
	s := online(t)
	require.True(t, ask(s, "web", v1.KindContainer, 1).Granted)
	yes, no := true, false
	s.outbox = nil
	s.Change(contract.HostChange{Cordon: &yes}, now)
	require.Empty(t, offered(s))
	require.Equal(t, v1.ReasonNoMatchingHost, ask(s, "db", v1.KindContainer, 1).Reason)
	require.True(t, s.View().Cordoned)
	again := contract.ReserveRequest{Workload: "web", Fence: 2, Needs: contract.Needs{Kind: v1.KindContainer}}
	require.False(t, s.Reserve(again, now).Granted, "it is elsewhere, and only left something here")
	again.Instance = "i1"
	require.True(t, s.Reserve(again, now).Granted, "what is there may be deployed again")
	s.Change(contract.HostChange{Cordon: &no, DisableRuntimes: []string{"docker"}}, now)
	require.Len(t, offered(s), 1)
	require.Equal(t, v1.ReasonRuntimeUnavailable, reserveAs(s, "db", v1.KindContainer, 1, true).Reason)
	require.False(t, s.View().Runtimes[0].Ready)
	s.Change(contract.HostChange{EnableRuntimes: []string{"docker"}}, now)
	require.True(t, reserveAs(s, "db", v1.KindContainer, 1, true).Granted)
	_, ok := s.Hello(hello("i1"), now)
	require.True(t, ok)
	s.Change(contract.HostChange{Cordon: &yes}, now)
	_, _ = s.Hello(hello("i1"), now)
	require.True(t, s.View().Cordoned, "an admin's wish outlives the agent")
}

func TestARuntimeThatAHostDoesNotHaveCantBeSwitched(t *testing.T) {
	s := online(t)
	require.NoError(t, s.checkChange(contract.HostChange{DisableRuntimes: []string{"docker", "libvirt"}}))
	for _, c := range []contract.HostChange{{DisableRuntimes: []string{"podman"}}, {EnableRuntimes: []string{"podman"}}} {
		err := s.checkChange(c)
		require.ErrorContains(t, err, `host h1 has no runtime "podman"`)
		require.Equal(t, "use one of docker, libvirt", contract.FromActivityError(contract.AsActivityError(err)).Advice)
	}
	s.Disabled = []string{"podman"}
	require.NoError(t, s.checkChange(contract.HostChange{EnableRuntimes: []string{"podman"}}), "an agent of another version had it")
}

func TestPlacementIsCheckedByTheHostToo(t *testing.T) {
	s := online(t)
	s.Labels = map[string]string{"rack": "a"}
	with := func(p *v1.Placement) contract.ReserveReply {
		return s.Reserve(contract.ReserveRequest{
			Workload: "web", Fence: 1, Placement: p, Passed: true, Needs: contract.Needs{Kind: v1.KindContainer},
		}, now)
	}
	require.Equal(t, v1.ReasonNoMatchingHost, with(&v1.Placement{Hosts: []string{"other"}}).Reason)
	require.Equal(t, v1.ReasonNoMatchingHost, with(&v1.Placement{Labels: []string{"rack!=a"}}).Reason)
	require.True(t, with(&v1.Placement{Labels: []string{"rack in (a, b)"}}).Granted)
}

func TestALostHostTellsItsWorkloads(t *testing.T) {
	s := online(t)
	require.True(t, ask(s, "web", v1.KindContainer, 1).Granted)
	s.outbox = nil
	s.Ended(contract.LeaseEnded{LeaseNo: 1}, now)
	require.Equal(t, contract.SignalHostLost, s.outbox[0].signal)
	require.Equal(t, contract.WorkloadID("web"), s.outbox[0].to)
	s.outbox = nil
	w, _ := s.Hello(hello("i1"), now)
	s.Live(contract.LeaseLive{LeaseNo: w.LeaseNo}, now)
	require.Equal(t, contract.SignalHostBack, s.outbox[0].signal)
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
func TestASettleThatFreesNothingOffersNothing(t *testing.T) {
	s := online(t)
	held := contract.Needs{Kind: v1.KindContainer}
	require.True(t, ask(s, "stopped", v1.KindContainer, 0).Granted)
	require.True(t, ask(s, "big", v1.KindContainer, 1000).Granted)
	again := contract.ReserveRequest{
		Workload: "stopped", Fence: 2, Needs: contract.Needs{Kind: v1.KindContainer, Amount: v1.Amounts{Memory: 500}},
	}
	require.False(t, s.Reserve(again, now).Granted)
	s.outbox = nil
	s.Settle(contract.SettleRequest{Workload: "stopped", Fence: 2, Needs: held}, now)
	require.Empty(t, offered(s))

	s.Release(contract.ReleaseRequest{Workload: "big", Fence: 1}, now)
	require.Len(t, offered(s), 1)
}

func TestALapsedGrantIsOffered(t *testing.T) {
	s := online(t)
	require.True(t, ask(s, "slow", v1.KindContainer, 1000).Granted)
	require.False(t, ask(s, "next", v1.KindContainer, 1000).Granted)
	s.outbox = nil
	s.Expire(now.Add(s.Timings.Grant))
	require.Len(t, offered(s), 1)
}

func TestWithoutWaitersNobodyIsTold(t *testing.T) {
	s := online(t)
	require.True(t, ask(s, "web", v1.KindContainer, 1000).Granted)
	s.outbox = nil
	s.Release(contract.ReleaseRequest{Workload: "web", Fence: 1}, now)
	require.Empty(t, s.outbox, "a deploy must not cost a message that nobody reads")
}

// A dry run gets the ledger's own answer, and leaves no trace of its question.
func TestWouldAnswersAsReserveAndChangesNothing(t *testing.T) {
	s := online(t)
	port := []contract.PortClaim{{Port: 80, Protocol: "tcp"}}
	holds := contract.Needs{Kind: v1.KindContainer, Ports: port, Devices: []string{"/dev/a"}, Labels: map[string]string{"app": "x"}}
	require.True(t, s.Reserve(contract.ReserveRequest{Workload: "first", Fence: 1, Needs: holds}, now).Granted)
	before := encoded(t, s)
	for name, c := range map[string]struct {
		needs  contract.Needs
		reason v1.Reason
	}{
		"what it has room for": {contract.Needs{Kind: v1.KindContainer}, v1.ReasonNone},
		"a port":               {contract.Needs{Kind: v1.KindContainer, Ports: port}, v1.ReasonPortConflict},
		"a device":             {contract.Needs{Kind: v1.KindContainer, Devices: []string{"/dev/a"}}, v1.ReasonNoCapacity},
		"apart":                {contract.Needs{Kind: v1.KindContainer, Labels: map[string]string{"app": "x"}, Apart: "app"}, v1.ReasonNoMatchingHost},
	} {
		t.Run(name, func(t *testing.T) {
			would := s.Would(contract.ReserveRequest{Workload: "second", Needs: c.needs})
			require.Equal(t, c.reason, would.Reason)
			require.Equal(t, c.reason == v1.ReasonNone, would.Granted)
			require.Equal(t, before, encoded(t, s))
		})
	}
	s.Cordoned = true
	require.Equal(t, v1.ReasonNoMatchingHost, s.Would(contract.ReserveRequest{Workload: "second"}).Reason)
}

func encoded(t *testing.T, s *State) string {
	t.Helper()
	data, err := json.Marshal(s)
	require.NoError(t, err)
	return string(data)
}
