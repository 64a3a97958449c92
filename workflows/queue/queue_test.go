package queue

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

var t0 = time.UnixMilli(1_700_000_000_000)

func waiter(name string, priority int, age time.Duration, memory v1.Bytes) contract.Waiter {
	return contract.Waiter{
		Workload: name, Fence: 1, Priority: priority, Since: t0.Add(-age),
		Needs: contract.Needs{Kind: v1.KindContainer, Amount: v1.Amounts{Memory: memory}},
	}
}

func room(host string, memory v1.Bytes) contract.Room {
	return contract.Room{Host: host, Free: v1.Amounts{Memory: memory}, Kinds: []v1.Kind{v1.KindContainer}}
}

// wakes answers every wake with a refusal, and returns who was woken.
func wakes(s *State) (names []string) {
	for w := s.Next(t0); w != nil; w = s.Next(t0) {
		names = append(names, w.Workload)
		s.Enqueue(s.Waiting[w.Workload])
	}
	return names
}

func TestHighestPriorityThenOldestGoesFirst(t *testing.T) {
	s := &State{}
	s.Enqueue(waiter("young", 0, time.Minute, 1))
	s.Enqueue(waiter("old", 0, time.Hour, 1))
	s.Enqueue(waiter("important", 5, time.Second, 1))
	s.Offer(room("h1", 10))
	require.Equal(t, []string{"important", "old", "young"}, wakes(s))
	require.Empty(t, s.Rooms, "an offer is over when everybody was asked")
}

func TestOnlyWhoFitsIsWoken(t *testing.T) {
	s := &State{}
	s.Enqueue(waiter("big", 9, time.Hour, 100))
	s.Enqueue(waiter("small", 0, time.Hour, 5))
	elsewhere := waiter("elsewhere", 0, time.Hour, 1)
	elsewhere.Placement = &v1.Placement{Labels: []string{"rack=b"}}
	s.Enqueue(elsewhere)
	pinned := waiter("pinned", 0, time.Hour, 1)
	pinned.Pinned = "h2"
	s.Enqueue(pinned)
	vm := waiter("vm", 0, time.Hour, 1)
	vm.Needs.Kind = v1.KindVM
	s.Enqueue(vm)
	s.Offer(room("h1", 10))
	require.Equal(t, []string{"small"}, wakes(s))
}

func TestAWakeIsOutstandingUntilItIsAnswered(t *testing.T) {
	s := &State{}
	s.Enqueue(waiter("a", 0, time.Hour, 1))
	s.Enqueue(waiter("b", 0, time.Minute, 1))
	s.Offer(room("h1", 10))
	require.Equal(t, "a", s.Next(t0).Workload)
	require.Nil(t, s.Next(t0.Add(time.Second)), "nobody else is woken meanwhile")
	require.Equal(t, t0.Add(answerWithin), s.Deadline())

	s.Leave(contract.LeaveQueue{Workload: "a", Fence: 1})
	require.Equal(t, "b", s.Next(t0.Add(time.Second)).Workload, "placed: the next is tried")
	require.Nil(t, s.Next(t0.Add(2*time.Second)))
	require.Nil(t, s.Next(t0.Add(time.Hour)), "no answer: the next would be tried, and there is none")
	require.Contains(t, s.Waiting, "b", "it still waits")
}

func TestAWaiterKeepsItsPlace(t *testing.T) {
	s := &State{}
	s.Enqueue(waiter("a", 0, time.Hour, 1))
	again := waiter("a", 0, 0, 1)
	again.Fence = 2
	s.Enqueue(again)
	require.Equal(t, t0.Add(-time.Hour), s.Waiting["a"].Since)
	s.Leave(contract.LeaveQueue{Workload: "a", Fence: 1})
	require.Contains(t, s.Waiting, "a", "a leave of the past")
	s.Leave(contract.LeaveQueue{Workload: "a", Fence: 2})
	require.Empty(t, s.Waiting)
}

func TestANewcomerAsksForThoseItDoesNotOutrank(t *testing.T) {
	s := &State{}
	s.Enqueue(waiter("huge", 9, time.Hour, 100))
	s.Enqueue(waiter("a", 1, time.Hour, 2))
	s.Enqueue(waiter("like-a", 1, time.Minute, 2))
	s.Enqueue(waiter("less", 1, time.Minute, 1))
	onPort := waiter("port", 1, time.Second, 2)
	onPort.Needs.Ports = []contract.PortClaim{{Port: 80, Protocol: "tcp"}}
	s.Enqueue(onPort)
	for name, c := range map[string]struct {
		newcomer contract.Waiter
		ahead    []string
	}{
		"equal":           {waiter("new", 1, 0, 1), []string{"a", "less"}},
		"lower":           {waiter("new", 0, 0, 1), []string{"a", "less"}},
		"outranks":        {waiter("new", 2, 0, 1), nil},
		"is itself first": {waiter("a", 1, 0, 1), nil},
		"is itself later": {waiter("less", 1, 0, 1), []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var ahead []string
			for _, w := range s.Ahead(room("h1", 10), c.newcomer) {
				ahead = append(ahead, w.Workload)
			}
			require.Equal(t, c.ahead, ahead, "not who does not fit, nor who needs no less than another")
		})
	}
}

// Who goes before a newcomer may find room elsewhere. The host that had room for both does not change by that.
func TestARoomIsOfferedAgainWhenThoseAheadLeave(t *testing.T) {
	leave := func(s *State) { s.Leave(contract.LeaveQueue{Workload: "ahead", Fence: 1}) }
	for name, c := range map[string]struct {
		end   func(*State)
		woken bool
	}{
		"it was placed":           {leave, true},
		"it is gone":              {func(s *State) { s.Gone("ahead") }, true},
		"it still waits":          {func(s *State) { s.Enqueue(s.Waiting["ahead"]) }, false},
		"an earlier action of it": {func(s *State) { s.Leave(contract.LeaveQueue{Workload: "ahead"}) }, false},
		"another one leaves":      {func(s *State) { s.Leave(contract.LeaveQueue{Workload: "other", Fence: 1}) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &State{}
			s.Enqueue(waiter("ahead", 0, time.Hour, 1))
			s.Enqueue(waiter("other", 0, time.Hour, 100))
			newcomer := waiter("newcomer", 0, 0, 1)
			s.Keep(room("h1", 10), s.Ahead(room("h1", 10), newcomer))
			s.Enqueue(newcomer)
			require.Nil(t, s.Next(t0))
			c.end(s)
			w := s.Next(t0)
			if !c.woken {
				require.Nil(t, w)
				return
			}
			require.Equal(t, "newcomer", w.Workload)
			require.Equal(t, "h1", w.Host)
			require.Empty(t, s.Behind)
		})
	}
}

func TestFiftyWaitersAreServedInOrder(t *testing.T) {
	s := &State{}
	for i := range 50 {
		s.Enqueue(waiter(fmt.Sprintf("w%02d", i), 0, time.Duration(50-i)*time.Second, 1))
	}
	for i := range 50 {
		s.Offer(room("h1", 1))
		w := s.Next(t0)
		require.Equal(t, fmt.Sprintf("w%02d", i), w.Workload)
		s.Leave(contract.LeaveQueue{Workload: w.Workload, Fence: 1})
	}
	require.Nil(t, s.Next(t0))
}

// refusals answers every wake with a refusal that speaks for all who need no less, and returns who was woken.
func refusals(s *State) (names []string) {
	for w := s.Next(t0); w != nil; w = s.Next(t0) {
		names = append(names, w.Workload)
		s.Refused(s.Waiting[w.Workload])
		s.Enqueue(s.Waiting[w.Workload])
	}
	return names
}

func TestWhoNeedsNoLessThanOneRefusedIsNotWoken(t *testing.T) {
	for name, c := range map[string]struct {
		change func(n *contract.Needs)
		woken  bool
	}{
		"the same":      {func(*contract.Needs) {}, false},
		"more":          {func(n *contract.Needs) { n.Amount.CPUs++; n.Ports = append(n.Ports, contract.PortClaim{Port: 81}) }, false},
		"less memory":   {func(n *contract.Needs) { n.Amount.Memory-- }, true},
		"another port":  {func(n *contract.Needs) { n.Ports = []contract.PortClaim{{Port: 81}} }, true},
		"no device":     {func(n *contract.Needs) { n.Devices = nil }, true},
		"other labels":  {func(n *contract.Needs) { n.Labels = map[string]string{"app": "b"} }, true},
		"nothing apart": {func(n *contract.Needs) { n.Apart = "" }, true},
		"not strict":    {func(n *contract.Needs) { n.Strict = false }, true},
	} {
		t.Run(name, func(t *testing.T) {
			first := waiter("first", 9, time.Hour, 5)
			first.Needs.Ports, first.Needs.Devices = []contract.PortClaim{{Port: 80}}, []string{"/dev/fuse"}
			first.Needs.Labels, first.Needs.Apart = map[string]string{"app": "a"}, "app"
			first.Needs.Strict = true
			second := waiter("second", 0, time.Hour, 5)
			second.Needs = first.Needs
			c.change(&second.Needs)
			s := &State{}
			s.Enqueue(first)
			s.Enqueue(second)
			offer := room("h1", 10)
			offer.Free.CPUs, offer.Guard = 10, true
			s.Offer(offer)
			require.Equal(t, c.woken, slices.Contains(refusals(s), "second"))
			s.Offer(offer)
			require.Contains(t, refusals(s), "first", "the next offer is for everybody again")
		})
	}
}

func TestAHostWithoutAGuardWakesNothingStrict(t *testing.T) {
	s := &State{}
	w := waiter("strict", 9, time.Hour, 1)
	w.Needs.Strict = true
	s.Enqueue(w)
	s.Enqueue(waiter("other", 0, time.Minute, 1))
	s.Offer(room("h1", 10))
	require.Equal(t, []string{"other"}, wakes(s))
	guarded := room("h1", 10)
	guarded.Guard = true
	s.Offer(guarded)
	require.Contains(t, wakes(s), "strict")
}
