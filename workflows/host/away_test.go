package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func offline(t *testing.T) *State {
	t.Helper()
	s := online(t)
	require.True(t, ask(s, "web", v1.KindContainer, 600).Granted)
	require.NoError(t, s.Bind(contract.BindRequest{Workload: "web", Fence: 1}, now))
	s.Ended(contract.LeaseEnded{LeaseNo: 1, Message: "no beat"}, now)
	s.outbox = nil
	return s
}

func evict(s *State, fence int64) contract.EvictReply {
	return s.Evict(contract.EvictRequest{Host: "h1", Instance: "i1", Workload: "web", Fence: fence}, now)
}

func TestOnlyAHostThatIsAwayLetsGo(t *testing.T) {
	s := online(t)
	require.True(t, ask(s, "web", v1.KindContainer, 600).Granted)
	require.NotEmpty(t, evict(s, 2).Refused)
	require.Contains(t, s.Ledger.Entries, "web")
}

func TestAnEvictionIsADebtThatClosesTheHostUntilItIsPaid(t *testing.T) {
	s := offline(t)
	require.Empty(t, evict(s, 5).Refused)
	require.Empty(t, evict(s, 5).Refused, "a repeat is the same")
	require.Empty(t, s.Ledger.Entries)
	require.Equal(t, []string{"web"}, s.View().Debts)

	w, ok := s.Hello(hello("i1"), now)
	require.True(t, ok)
	require.Equal(t, []contract.Debt{{Workload: "web", Fence: 5}}, w.Debts, "the agent is told before it starts anything")
	s.Live(contract.LeaseLive{LeaseNo: w.LeaseNo}, now)
	refused := ask(s, "db", v1.KindContainer, 1)
	require.Equal(t, v1.ReasonHostOffline, refused.Reason, "another host may have room")
	require.Contains(t, refused.Short, "web")
	require.Error(t, s.Bind(contract.BindRequest{Workload: "db", Fence: 1}, now), "binds open after the debts are paid")

	s.Paid(contract.DebtsPaid{Paid: []contract.Debt{{Workload: "web", Fence: 4}}}, now)
	require.NotEmpty(t, s.Debts, "an older debt's payment")
	s.Paid(contract.DebtsPaid{Paid: []contract.Debt{{Workload: "web", Fence: 5}}}, now)
	require.True(t, reserveAs(s, "db", v1.KindContainer, 1, true).Granted)
	require.NoError(t, s.Bind(contract.BindRequest{Workload: "db", Fence: 1}, now))
	require.Equal(t, v1.ReasonStaleFence, s.Reserve(contract.ReserveRequest{
		Workload: "web", Fence: 5, Passed: true,
		Needs: contract.Needs{Kind: v1.KindContainer},
	}, now).Reason, "a late reserve of what moved away")
}

func TestAForgottenInstanceIsBarredUntilItIsAdopted(t *testing.T) {
	s := online(t)
	require.Error(t, s.Forget(now, true), "not while it is online")
	s = offline(t)
	require.Empty(t, evict(s, 5).Refused)
	require.Len(t, s.Debts, 1)
	require.NoError(t, s.Forget(now, true))
	require.NoError(t, s.Forget(now, true), "a repeat is the same")
	require.Equal(t, v1.HostForgotten, s.Phase)
	require.Contains(t, s.View().Message, "web")
	require.Empty(t, s.Debts)

	w, ok := s.Hello(hello("i1"), now)
	require.False(t, ok)
	require.Contains(t, w.Refused, "berth adopt h1")
	s.Adopt(now)
	_, ok = s.Hello(hello("i1"), now)
	require.True(t, ok)
}

func TestAnotherMachineMayTakeAForgottenName(t *testing.T) {
	s := offline(t)
	require.NoError(t, s.Forget(now, true))
	require.Equal(t, contract.SignalHostLost, s.outbox[0].signal, "its workloads hear of it")
	w, ok := s.Hello(hello("i2"), now)
	require.True(t, ok)
	require.Empty(t, s.Ledger.Entries, "the new machine holds nothing of the old one's")
	s.Live(contract.LeaseLive{LeaseNo: w.LeaseNo}, now)
	require.Empty(t, evict(s, 9).Refused, "what was on the old machine can be let go although the name is online")
	require.Empty(t, s.Debts)
	_, ok = s.Hello(hello("i1"), now)
	require.False(t, ok)
}

func TestALeaseThatEndsAfterForgettingIsNoNews(t *testing.T) {
	s := offline(t)
	require.NoError(t, s.Forget(now, true))
	s.Ended(contract.LeaseEnded{LeaseNo: s.LeaseNo}, now.Add(time.Second))
	require.Equal(t, v1.HostForgotten, s.Phase)
}

func TestAnAdoptedMachineHoldsAndOwesWhatItDid(t *testing.T) {
	s := offline(t)
	s.Phase = v1.HostOnline
	require.True(t, s.Reserve(contract.ReserveRequest{
		Workload: "moved", Fence: 3, Passed: true,
		Needs: contract.Needs{Kind: v1.KindContainer, Amount: v1.Amounts{Memory: 100}},
	}, now).Granted)
	require.NoError(t, s.Bind(contract.BindRequest{Workload: "moved", Fence: 3}, now))
	s.Phase = v1.HostOffline
	require.NoError(t, s.Forget(now, true))
	require.True(t, s.outbox[0].arg.(contract.HostStatus).Forgotten) //nolint:forcetypeassert // a test
	require.Zero(t, s.View().Workloads)
	gone := contract.EvictRequest{Host: "h1", Instance: "i1", Workload: "moved", Fence: 8}
	require.Empty(t, s.Evict(gone, now).Refused)
	require.Empty(t, s.Debts, "nobody waits for it")

	s.Adopt(now)
	w, ok := s.Hello(hello("i1"), now)
	require.True(t, ok)
	require.Equal(t, []contract.Debt{{Workload: "moved", Fence: 8}}, w.Debts, "what moved meanwhile may still run there")
	require.Len(t, s.Ledger.Entries, 1)
	require.EqualValues(t, 600, s.Ledger.Entries["web"].Needs.Amount.Memory)
	require.Empty(t, s.Former)
	s.outbox = nil
	s.Live(contract.LeaseLive{LeaseNo: w.LeaseNo}, now)
	require.Equal(t, notice{
		to: contract.WorkloadID("web"), signal: contract.SignalHostBack, arg: contract.HostStatus{Host: "h1", LeaseNo: w.LeaseNo},
	}, s.outbox[0])
}

func TestAnotherMachineOfTheNameDoesNotTakeWhatWasPinnedToTheFirst(t *testing.T) {
	s := offline(t)
	require.NoError(t, s.Forget(now, true))
	w, ok := s.Hello(hello("i2"), now)
	require.True(t, ok)
	s.Live(contract.LeaseLive{LeaseNo: w.LeaseNo}, now)
	req := contract.ReserveRequest{
		Workload: "web", Fence: 9, Passed: true, Instance: "i1",
		Needs: contract.Needs{Kind: v1.KindContainer, Amount: v1.Amounts{Memory: 1}},
	}
	reply := s.Reserve(req, now)
	require.Equal(t, v1.ReasonHostLost, reply.Reason)
	require.Contains(t, reply.Short, "web")
	req.Instance = "i2"
	require.True(t, s.Reserve(req, now).Granted)
}

func TestVolumesThatHadToGoStillHaveTo(t *testing.T) {
	s := offline(t)
	s.Evict(contract.EvictRequest{Host: "h1", Instance: "i1", Workload: "web", Fence: 6, Volumes: true}, now)
	require.Empty(t, evict(s, 7).Refused)
	require.Equal(t, []contract.Debt{{Workload: "web", Fence: 7, Volumes: true}}, s.Debts, "a later life of the name does not save them")
}

func TestAStrictWorkloadIsLetGoOnlyWhenItsHostHasStoppedIt(t *testing.T) {
	timings := contract.DefaultTimings()
	strictly := contract.EvictRequest{Host: "h1", Instance: "i1", Workload: "web", Fence: 5, Grace: timings.Grace}
	for name, c := range map[string]struct {
		ended contract.LeaseEnded
		from  time.Duration // from when the grace counts, after the end was handled
	}{
		"its lease ran out":  {contract.LeaseEnded{LeaseNo: 1, RanOut: true}, 0},
		"its lease broke":    {contract.LeaseEnded{LeaseNo: 1}, timings.Lease},
		"its agent has left": {contract.LeaseEnded{LeaseNo: 1, Left: true}, timings.Lease},
	} {
		t.Run(name, func(t *testing.T) {
			s := online(t)
			require.True(t, ask(s, "web", v1.KindContainer, 600).Granted)
			require.NoError(t, s.Bind(contract.BindRequest{Workload: "web", Fence: 1}, now))
			s.Ended(c.ended, now)
			due := now.Add(c.from + timings.Grace)
			require.Equal(t, contract.EvictReply{Wait: time.Second}, s.Evict(strictly, due.Add(-time.Second)))
			require.Contains(t, s.Ledger.Entries, "web")
			require.Empty(t, s.Debts)
			require.NoError(t, s.Forget(due.Add(-time.Second), true))
			require.Equal(t, contract.EvictReply{Wait: time.Second}, s.Evict(strictly, due.Add(-time.Second)), "forgotten in the meantime")
			require.Equal(t, contract.EvictReply{}, s.Evict(strictly, due))
		})
	}
}

func TestAHostWithoutAGuardTakesNothingStrict(t *testing.T) {
	s := online(t)
	strictly := contract.ReserveRequest{Workload: "web", Fence: 1, Needs: contract.Needs{Kind: v1.KindContainer, Strict: true}}
	reply := s.Reserve(strictly, now)
	require.Equal(t, v1.ReasonNoMatchingHost, reply.Reason)
	require.Equal(t, contract.NoGuard, reply.Short)
	s.outbox = nil
	s.Capability(contract.Capability{LeaseNo: s.LeaseNo, Runtimes: s.Runtimes, Guard: true}, now)
	require.True(t, s.View().Guard)
	require.Equal(t, contract.SignalRoom, s.outbox[0].signal, "who waits hears of the guard")
	strictly.Passed = true
	require.True(t, s.Reserve(strictly, now).Granted)
}
