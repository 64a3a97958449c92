package host_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/host"
)

const grant = 30 * time.Second

var t0 = time.UnixMilli(1_700_000_000_000)

func needs(memory v1.Bytes, ports ...int) contract.Needs {
	n := contract.Needs{Kind: v1.KindContainer, Amount: v1.Amounts{Memory: memory}}
	for _, p := range ports {
		n.Ports = append(n.Ports, contract.PortClaim{Port: p, Protocol: "tcp"})
	}
	return n
}

func reserve(l *host.Ledger, name string, fence int64, n contract.Needs, at time.Time) contract.ReserveReply {
	return l.Reserve(contract.ReserveRequest{Workload: name, Fence: fence, Needs: n}, at, grant)
}

func newLedger() *host.Ledger {
	return &host.Ledger{Capacity: v1.Amounts{CPUs: 2000, Memory: 1000, Disk: 1000}}
}

func TestReserveSaysWhatIsShort(t *testing.T) {
	l := newLedger()
	require.True(t, reserve(l, "a", 1, needs(700), t0).Granted)
	r := reserve(l, "b", 1, needs(400), t0)
	require.False(t, r.Granted)
	require.Equal(t, v1.ReasonNoCapacity, r.Reason)
	require.Contains(t, r.Short, "memory short by 100")
}

func TestReserveIsIdempotentByFence(t *testing.T) {
	l := newLedger()
	require.True(t, reserve(l, "a", 5, needs(700), t0).Granted)
	require.True(t, reserve(l, "a", 5, needs(700), t0).Granted, "a repeat gets the same answer")
	require.Equal(t, v1.Bytes(700), l.Reserved().Memory)
	r := reserve(l, "a", 4, needs(1), t0)
	require.Equal(t, v1.ReasonStaleFence, r.Reason)
	require.EqualValues(t, 5, r.Seen)
}

func TestUnboundGrantLapses(t *testing.T) {
	l := newLedger()
	require.True(t, reserve(l, "a", 1, needs(700), t0).Granted)
	require.Equal(t, t0.Add(grant), l.NextExpiry())
	require.True(t, reserve(l, "b", 1, needs(700), t0.Add(grant)).Granted, "the lapsed grant makes room")
	require.Error(t, l.Bind("a", 1, t0.Add(grant)), "a lapsed grant can't be bound")
}

func TestBoundGrantStays(t *testing.T) {
	l := newLedger()
	require.True(t, reserve(l, "a", 1, needs(700), t0).Granted)
	require.NoError(t, l.Bind("a", 1, t0))
	require.NoError(t, l.Bind("a", 1, t0), "a repeat is the same")
	require.True(t, l.NextExpiry().IsZero())
	require.False(t, reserve(l, "b", 1, needs(700), t0.Add(time.Hour)).Granted)
}

func TestRedeployCountsOwnRoomAsFreeAndHoldsTheMaximum(t *testing.T) {
	l := newLedger()
	require.True(t, reserve(l, "a", 1, needs(700, 80), t0).Granted)
	require.NoError(t, l.Bind("a", 1, t0))
	require.True(t, reserve(l, "a", 2, needs(600, 80, 81), t0).Granted, "its own room and port count as free")
	require.Equal(t, v1.Bytes(700), l.Reserved().Memory, "the maximum of both is held until it settles")
	require.Equal(t, v1.ReasonPortConflict, reserve(l, "b", 1, needs(1, 81), t0).Reason)

	require.NoError(t, l.Bind("a", 2, t0))
	l.Settle(contract.SettleRequest{Workload: "a", Fence: 2, Needs: needs(600, 81)})
	require.Equal(t, v1.Bytes(600), l.Reserved().Memory)
	require.True(t, reserve(l, "b", 1, needs(1, 80), t0).Granted, "the old port is free once the action has settled")
}

func TestAnExactGrantNeedsNoSettle(t *testing.T) {
	l := newLedger()
	r := reserve(l, "a", 1, needs(700, 80), t0)
	require.True(t, r.Exact)
	require.Equal(t, r, reserve(l, "a", 1, needs(700, 80), t0), "a repeat gets the same answer")
	require.NoError(t, l.Bind("a", 1, t0))
	bound := maps.Clone(l.Entries)
	l.Settle(contract.SettleRequest{Workload: "a", Fence: 1, Needs: needs(700, 80)})
	require.Equal(t, bound, l.Entries)

	again := reserve(l, "a", 2, needs(600), t0)
	require.True(t, again.Granted)
	require.False(t, again.Exact, "what ran is held as well until the action settles")
	require.Equal(t, again, reserve(l, "a", 2, needs(600), t0))
	require.False(t, reserve(l, "a", 3, needs(500), t0).Exact, "also when the grant before was never bound")
}

func TestLapsedRedeployFallsBackToWhatRan(t *testing.T) {
	l := newLedger()
	require.True(t, reserve(l, "a", 1, needs(300), t0).Granted)
	require.NoError(t, l.Bind("a", 1, t0))
	require.True(t, reserve(l, "a", 2, needs(900), t0).Granted)
	l.Expire(t0.Add(grant))
	require.Equal(t, v1.Bytes(300), l.Reserved().Memory)
	require.True(t, reserve(l, "a", 3, needs(300), t0.Add(grant)).Granted)
}

func TestReleaseBarsLateReserves(t *testing.T) {
	l := newLedger()
	l.Release(contract.ReleaseRequest{Workload: "a", Fence: 7}, t0)
	require.Equal(t, v1.ReasonStaleFence, reserve(l, "a", 7, needs(1), t0).Reason)
	require.True(t, reserve(l, "a", 8, needs(1), t0).Granted)
	l.Release(contract.ReleaseRequest{Workload: "a", Fence: 7}, t0)
	require.Equal(t, v1.Bytes(1), l.Reserved().Memory, "a late release of an older action frees nothing")
}

func TestPortsClashAcrossWildcardAddresses(t *testing.T) {
	for name, c := range map[string]struct {
		a, b  contract.PortClaim
		clash bool
	}{
		"same":               {contract.PortClaim{Port: 80, Protocol: "tcp"}, contract.PortClaim{Port: 80, Protocol: "tcp"}, true},
		"other protocol":     {contract.PortClaim{Port: 80, Protocol: "tcp"}, contract.PortClaim{Port: 80, Protocol: "udp"}, false},
		"other address":      {contract.PortClaim{IP: "127.0.0.1", Port: 80, Protocol: "tcp"}, contract.PortClaim{IP: "127.0.0.2", Port: 80, Protocol: "tcp"}, false},
		"wildcard and other": {contract.PortClaim{IP: "0.0.0.0", Port: 80, Protocol: "tcp"}, contract.PortClaim{IP: "127.0.0.2", Port: 80, Protocol: "tcp"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger()
			require.True(t, reserve(l, "a", 1, contract.Needs{Ports: []contract.PortClaim{c.a}}, t0).Granted)
			require.Equal(t, c.clash, !reserve(l, "b", 1, contract.Needs{Ports: []contract.PortClaim{c.b}}, t0).Granted)
		})
	}
}

// Whatever the order of messages, repeats and lapses: the ledger never gives more than there is, never a port twice, and is
// empty when everybody has released.
func TestLedgerHoldsUnderRandomInterleavings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLedger()
		now := t0
		names := []string{"a", "b", "c", "d"}
		var fence int64 = 100
		issued := map[string]int64{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			name := rapid.SampledFrom(names).Draw(t, "name")
			f := issued[name]
			switch rapid.IntRange(0, 6).Draw(t, "op") {
			case 0, 1:
				fence++
				n := needs(v1.Bytes(rapid.IntRange(0, 600).Draw(t, "memory")), rapid.IntRange(1, 3).Draw(t, "port"))
				if reserve(l, name, fence, n, now).Granted {
					issued[name] = fence
				}
			case 2:
				_ = l.Bind(name, f, now)
			case 3:
				l.Settle(contract.SettleRequest{Workload: name, Fence: f, Needs: l.Entries[name].Needs})
			case 4:
				l.Release(contract.ReleaseRequest{Workload: name, Fence: f}, now)
			case 5:
				now = now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "seconds")) * time.Second)
				l.Expire(now)
			case 6: // a late repeat
				reserve(l, name, f-1, needs(500), now)
			}
			require.LessOrEqual(t, l.Reserved().Memory, l.Capacity.Memory)
			ports := map[int]string{}
			for holder, e := range l.Entries {
				for _, p := range e.Needs.Ports {
					require.Empty(t, ports[p.Port], "port %d is held by %s and %s", p.Port, ports[p.Port], holder)
					ports[p.Port] = holder
				}
			}
		}
		for _, name := range names {
			l.Release(contract.ReleaseRequest{Workload: name, Fence: fence}, now)
		}
		require.Zero(t, l.Reserved())
	})
}

func TestWorkloadsThatAreKeptApartShareNoHost(t *testing.T) {
	app := func(value, apart string) contract.Needs {
		return contract.Needs{Labels: map[string]string{"app": value}, Apart: apart}
	}
	for name, c := range map[string]struct {
		first, second contract.Needs
		clash         bool
	}{
		"both say so":           {app("a", "app"), app("a", "app"), true},
		"only the first":        {app("a", "app"), app("a", ""), true},
		"only the second":       {app("a", ""), app("a", "app"), true},
		"none":                  {app("a", ""), app("a", ""), false},
		"another value":         {app("a", "app"), app("b", "app"), false},
		"one without the label": {app("a", "app"), contract.Needs{Apart: "app"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger()
			require.True(t, reserve(l, "one", 1, c.first, t0).Granted)
			reply := reserve(l, "two", 1, c.second, t0)
			require.Equal(t, c.clash, !reply.Granted)
			if c.clash {
				require.Equal(t, v1.ReasonNoMatchingHost, reply.Reason)
			}
		})
	}
}
