package e2e

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// now returns how many run.
func (w *watcher) now() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.running)
}

// A host on which agent and guard are dead has nobody to stop anything. The guard alone, started again before the grace is over
// as a service manager does, keeps the promise.
func TestAGuardThatIsBackInTimeKeepsTheOnlyCopyAlsoIfTheAgentIsDead(t *testing.T) {
	t.Parallel()
	f, agents, guards := guardedHostsAt(t, slices.Concat(strictPace, []string{"--grace", "30s"})) // time for a guard to start on a slow machine
	w, first, second := deployed(t, f, "one")
	agents[first].Kill()
	guards[first].Kill()
	f.AwaitHost(first, soon, v1.HostOffline)
	require.Equal(t, 1, w.now(), "it runs on: nobody is there")
	guards[first].Start()
	moved(t, f, w, "one", second)
	remove(t, f, "one")
}

// As long as both are dead nothing is promised: what runs, runs on beside the second copy. Whoever is back first ends that.
func TestWithoutGuardAndAgentAStrictWorkloadRunsOnUntilOneIsBack(t *testing.T) {
	t.Parallel()
	f, agents, guards := guardedHosts(t)
	w, first, second := deployed(t, f, "one")
	guards[first].Kill()
	agents[first].Kill()
	f.AwaitWorkload("one", long, "moved", runsOn(second))
	harness.Eventually(t, func() bool { return w.now() == 2 }, soon, poll, "what the docs warn of")
	kept := idOf(t, "berth."+f.ID+"."+second+".one")

	guards[first].Start()
	harness.Eventually(t, func() bool { return w.now() == 1 }, soon, poll, "the guard needs no agent")
	require.Equal(t, "false\n", docker(t, "inspect", "-f", "{{.State.Running}}", "berth."+f.ID+"."+first+".one"))
	agents[first].Start()
	f.AwaitHost(first, soon, v1.HostOnline)
	harness.Eventually(t, func() bool { return len(on(t, f, first, "one")) == 0 }, soon, poll, "its debt is paid")
	starts, most := w.saw()
	require.Equal(t, 2, starts, "the old host started nothing")
	require.Equal(t, 2, most)
	require.Equal(t, kept, idOf(t, "berth."+f.ID+"."+second+".one"))
	remove(t, f, "one")
}
