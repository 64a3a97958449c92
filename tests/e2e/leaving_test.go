package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// TestAHostThatIsLostWhileAStrictWorkloadLeavesIt takes the agent of a drained host away in the middle of the removal that comes
// before the new copy's start. Nobody waits for that host: the workload moves as it would have without the drain.
func TestAHostThatIsLostWhileAStrictWorkloadLeavesIt(t *testing.T) {
	t.Parallel()
	for name, goes := range map[string]func(*harness.Agent){
		"frozen":  func(a *harness.Agent) { a.Pause() },
		"stopped": func(a *harness.Agent) { a.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, agents, _ := guardedHosts(t, harness.Failpoints())
			w, first, second := deployed(t, f, "one")
			const place = "container.stop.before@one"
			f.Arm(place)
			code, out := f.CLI("drain", first)
			require.Zero(t, code, out)
			f.AwaitHit(place, soon)
			goes(agents[first])
			moved(t, f, w, "one", second)
			f.Release(place)
			awaitDrain(t, f, first, "the drain has ended", ended)

			agents[first].Kill()
			agents[first].Start()
			f.AwaitHost(first, soon, v1.HostOnline)
			harness.Eventually(t, func() bool {
				h, err := f.Client().Host(t.Context(), first)
				return err == nil && len(h.Debts) == 0 && len(on(t, f, first, "one")) == 0
			}, soon, poll, "what was left there is gone")
			starts, most := w.saw()
			require.Equal(t, 2, starts)
			require.Equal(t, 1, most)
			remove(t, f, "one")
		})
	}
}
