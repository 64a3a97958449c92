package e2e

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// TestAMoveWhoseTargetFreezes freezes the agent that a drained workload moves to while it starts it there. The move goes elsewhere
// once the host is Lost, long before the step is given up by its heartbeats, and the frozen host owes what it may have made.
func TestAMoveWhoseTargetFreezes(t *testing.T) {
	t.Parallel()
	slow := slices.Concat(lossPace, []string{"--activity-heartbeat", "10m"})
	f := harness.NewFleet(t, harness.Failpoints())
	f.StartServer(slow...)
	agents := map[string]*harness.Agent{}
	for _, host := range []string{"h1", "h2", "h3"} {
		agents[host] = f.StartAgent(host, append([]string{"--label", "name=" + host}, slow...)...)
		f.AwaitHost(host, soon, v1.HostOnline)
	}
	code, out := f.CLI("cordon", "h2", "h3")
	require.Zero(t, code, out)
	f.Apply(container(t, f, "moves"))
	f.AwaitWorkload("moves", soon, "runs on h1", runsOn("h1"))
	code, out = f.CLI("uncordon", "h2")
	require.Zero(t, code, out)

	const place = "container.start.after@moves"
	f.Arm(place)
	code, out = f.CLI("drain", "h1")
	require.Zero(t, code, out)
	f.AwaitHit(place, soon)
	require.Len(t, on(t, f, "h2", "moves"), 1, "the new copy was just started")
	agents["h2"].Pause()
	code, out = f.CLI("uncordon", "h3")
	require.Zero(t, code, out)
	f.AwaitHost("h2", soon, v1.HostOffline)
	f.AwaitWorkload("moves", soon, "moved on to h3", runsOn("h3"))
	harness.Eventually(t, func() bool {
		h, err := f.Client().Host(t.Context(), "h2")
		return err == nil && slices.Equal(h.Debts, []string{"moves"})
	}, soon, poll, "the frozen host owes its copy")
	awaitDrain(t, f, "h1", "it is empty", ended)
	require.Empty(t, on(t, f, "h1", "moves"))

	f.Release(place)
	agents["h2"].Resume()
	f.AwaitHost("h2", soon, v1.HostOnline)
	harness.Eventually(t, func() bool {
		h, err := f.Client().Host(t.Context(), "h2")
		return err == nil && len(h.Debts) == 0 && len(on(t, f, "h2", "moves")) == 0
	}, soon, poll, "the debt is paid")
	require.Len(t, on(t, f, "h3", "moves"), 1)
	f.AwaitWorkload("moves", soon, "runs on h3", runsOn("h3"))
	for host := range agents {
		awaitAgreement(t, f, host, runningHere(t, f))
	}
	remove(t, f, "moves")
}
