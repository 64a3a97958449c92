package faults

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// TestJoin lets faults meet the places of a host's way into the fleet and out of it. Afterwards the host is a member with
// a later lease that takes work, and what ran on it ran on.
func TestJoin(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	ctx := t.Context()
	stays := f.newWork(scenarioOf("container"))
	a, err := put(1)(ctx, f, stays)
	require.NoError(t, err)
	require.NoError(t, stays.end(ctx, f, verbs["deploy"], a))

	comes := func() { f.agent.Restart() }
	leaves := func() { require.NoError(t, syscall.Kill(f.agent.PID(), syscall.SIGTERM)) }
	for i, c := range []struct {
		point string
		do    func()
	}{
		{"GrantLease.begin", comes}, {"GrantLease.end", comes}, {"HoldLease.begin", comes}, {"HoldLease.end", leaves},
	} {
		for n, happens := range faults {
			if !full() && n != i%len(faults) {
				continue
			}
			t.Run(c.point+" "+happens.name, func(t *testing.T) {
				before, err := f.client.Host(t.Context(), hostName)
				require.NoError(t, err)
				place := c.point + "@" + hostName
				f.Arm(place)
				c.do()
				f.AwaitHit(place, within)
				happens.strike(f)
				f.Release(place)
				harness.Eventually(t, func() bool {
					if !f.agent.Running() {
						f.agent.Start()
					}
					h, err := f.client.Host(t.Context(), hostName)
					return err == nil && h.State == v1.HostOnline && h.LeaseNo > before.LeaseNo
				}, within, 300*time.Millisecond)
				w := f.newWork(scenarioOf("container"))
				a, err := put(1)(t.Context(), f, w)
				require.NoError(t, err)
				require.NoError(t, w.end(t.Context(), f, verbs["deploy"], a))
				require.NoError(t, (&tried{work: w}).clear(t.Context(), f))
				require.NoError(t, stays.checkHost(f))
			})
		}
	}
	require.NoError(t, (&tried{work: stays}).clear(ctx, f))
}
