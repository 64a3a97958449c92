package container_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// A container that is taken off its network runs on without addresses, and has them again when it is put back.
func TestANetworkThatIsTakenAwayShows(t *testing.T) {
	h := newHost(t)
	ctx, cancel := context.WithCancel(t.Context())
	changed, over := make(chan string, 64), make(chan error, 1)
	go func() { over <- h.rt.Watch(ctx, func(workload string) { changed <- workload }) }()
	require.Empty(t, <-changed, "first comes: look at all")
	out := h.deploy(request(sleeper(), 1, 10))
	require.NotEmpty(t, out.Addresses)
	o := h.observe("web")
	require.Equal(t, out.Addresses, o.Addresses)
	require.True(t, o.Exact)
	require.Empty(t, o.Findings)

	// seen waits until the watch has led to a look that satisfies is.
	seen := func(is func(contract.Observation) bool) (last contract.Observation) {
		t.Helper()
		require.Eventually(t, func() bool {
			select {
			case name := <-changed:
				last = h.observe("web")
				return name == "web" && is(last)
			default:
				return false
			}
		}, 2*time.Minute, time.Millisecond)
		return last
	}
	seen(func(o contract.Observation) bool { return o.State == contract.RunRunning })
	require.NoError(t, h.cl.NetworkDisconnect(t.Context(), "bridge", out.RuntimeID, false))
	o = seen(func(o contract.Observation) bool { return len(o.Addresses) == 0 })
	require.Equal(t, contract.RunRunning, o.State)
	require.True(t, o.Exact)
	require.Len(t, o.Findings, 1)
	require.Equal(t, v1.ReasonDisconnected, o.Findings[0].Reason)
	require.Contains(t, o.Findings[0].Message, "docker network connect bridge "+h.containers()[0].Names[0][1:])

	require.NoError(t, h.cl.NetworkConnect(t.Context(), "bridge", out.RuntimeID, nil))
	o = seen(func(o contract.Observation) bool { return len(o.Addresses) > 0 })
	require.Empty(t, o.Findings)

	h.must(contract.StepStop, verb(request(sleeper(), 1, 11), v1.VerbStop, 11))
	o = seen(func(o contract.Observation) bool { return o.Down() })
	require.Empty(t, o.Addresses)
	require.True(t, o.Exact)
	require.Empty(t, o.Findings)
	cancel()
	require.ErrorIs(t, <-over, context.Canceled)
}
