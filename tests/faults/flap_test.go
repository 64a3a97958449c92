package faults

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

const flapping = `apiVersion: berth/v1
kind: Container
metadata: {name: %s}
spec:
  image: %s
  pull: never
  stopGracePeriod: 1s
  command: [/bin/sh, -c, %q]
%s`

// TestFlapping has one workload end every 100 ms, and another change its health every second, for a minute, or ten. Neither floods
// anybody, and others on the host are served meanwhile.
func TestFlapping(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	spec := func(name, script, more string) *v1.Workload {
		return f.Parse(fmt.Sprintf(flapping, name, f.container, script, more))
	}
	const serve = "trap 'exit 0' TERM; while :; do sleep 0.1; done"
	f.Apply(spec("ends", "sleep 0.1; exit 3", ""))
	f.Apply(spec("sick", serve, `  healthCheck: {command: [/bin/sh, -c, "test -e /x || { echo >/x; exit 0; }; rm /x; exit 1"], interval: 1s, retries: 1}`+"\n"))
	for _, name := range []string{"ends", "sick"} {
		f.AwaitWorkload(name, within, "it runs", func(v v1.View) bool { return v.Status.Settled })
	}
	begin, before := time.Now(), map[string]harness.Past{"ends": f.Past("ends"), "sick": f.Past("sick")}
	last := time.Minute
	if full() {
		last = 10 * time.Minute
	}
	var served []time.Duration
	for i := 0; time.Since(begin) < last; i++ {
		name, start := fmt.Sprintf("served-%d", i), time.Now()
		f.Apply(spec(name, serve, ""))
		f.AwaitPhase(name, within, v1.PhaseRunning)
		f.Do(name, v1.VerbRemove)
		f.AwaitGone(name, within)
		served = append(served, time.Since(start))
	}
	v := f.Workload("ends")
	restarts, took := v.Status.Restarts, time.Since(begin)
	require.Equal(t, int64(1), v.Status.Generation)
	require.Positive(t, v.Status.Restarts)
	require.Contains(t, v.Status.Message, "exited with code 3")
	f.AwaitWorkload("ends", within, "it says when it is tried next", func(v v1.View) bool { return v.Status.NextTry != nil })
	for name, was := range before {
		now := f.Past(name)
		took := time.Since(begin)
		told := now.Observed[len(was.Observed):]
		t.Logf("%s: in %s %d observations (%d folded into them), %d events in %d runs, the longest of %d", name, took.Round(time.Second),
			len(told), folded(told), now.Events-was.Events, now.Runs-was.Runs+1, now.Longest)
		// Two in ten seconds at most, once the first burst is over.
		require.LessOrEqual(t, len(told), 20+int(took/(5*time.Second)))
		require.LessOrEqual(t, now.Events-was.Events, 12*(len(told)+4))
		require.LessOrEqual(t, now.Longest, 600)
	}
	require.Positive(t, folded(f.Past("sick").Observed))
	require.LessOrEqual(t, restarts, 10+int(took/(20*time.Second)), "its host backs off")
	slices.Sort(served)
	t.Logf("%d others were deployed and removed meanwhile, in %s each (median), %s at most", len(served), served[len(served)/2], served[len(served)-1])
	for name := range before {
		f.Do(name, v1.VerbRemove)
		f.AwaitGone(name, within)
	}
}

func folded(told []harness.Observed) (n int) {
	for _, o := range told {
		n += o.Repeated
	}
	return n
}
