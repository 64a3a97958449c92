package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
	"github.com/berth-dev/berth/workflows/contract"
)

// TestObservation kills containers, and says how long it takes until their status shows it.
func TestObservation(t *testing.T) {
	f := fleet(t)
	const count, rounds = 6, 4
	name := func(i int) string { return fmt.Sprintf("seen-%d", i) }
	for i := range count {
		f.Apply(container(t, f, name(i)))
	}
	first := map[string]string{}
	for i := range count {
		f.AwaitPhase(name(i), soon, v1.PhaseRunning)
		first[name(i)] = inspect(t, f, name(i)).ID
	}
	for range rounds {
		before := map[string]string{}
		for i := range count {
			before[name(i)] = inspect(t, f, name(i)).State.StartedAt
			docker(t, "kill", containerName(f, name(i)))
		}
		for i := range count {
			harness.Eventually(t, func() bool {
				now := inspect(t, f, name(i)).State
				return now.Running && now.StartedAt != before[name(i)]
			}, soon, poll, "it is started again")
			f.AwaitPhase(name(i), soon, v1.PhaseRunning)
		}
	}
	var came, shown []time.Duration
	for i := range count {
		require.Equal(t, first[name(i)], inspect(t, f, name(i)).ID)
		ends := 0
		for _, o := range f.Past(name(i)).Observed {
			if o.State != contract.RunExited {
				continue
			}
			ends++
			require.Equal(t, 137, o.Exit.Code)
			require.Equal(t, v1.ReasonInterrupted, o.Exit.Outcome)
			came = append(came, o.Came.Sub(o.Exit.At))
			if !o.Shown.IsZero() {
				shown = append(shown, o.Shown.Sub(o.Exit.At))
			}
		}
		require.Positive(t, ends)
	}
	require.NotEmpty(t, shown)
	t.Logf("from the end of a container to its workload: %s; to the status: %s", percentiles(came), percentiles(shown))
}

func percentiles(d []time.Duration) string {
	slices.Sort(d)
	at := func(p int) time.Duration { return d[min(len(d)-1, len(d)*p/100)].Round(time.Millisecond) }
	return fmt.Sprintf("p50 %s, p99 %s of %d", at(50), at(99), len(d))
}

// TestTheControlPlaneIsAway lets workloads end while Temporal is away, and takes away the agent and what is left of them too.
func TestTheControlPlaneIsAway(t *testing.T) {
	f := fleet(t)
	agent := f.Agents[0]
	end := func(name string) { docker(t, "exec", containerName(f, name), "touch", "/tmp/end") }
	prune := func(name string) {
		harness.Eventually(t, func() bool {
			docker(t, "container", "prune", "--force", "--filter", "label=berth.fleet="+f.ID, "--filter", "label=berth.workload="+name)
			return len(containersOf(t, f, name)) == 0
		}, soon, poll)
	}
	f.Apply(container(t, f, "crash", shell(untilFile("/tmp/end", "rm /tmp/end; exit 3"))))
	for _, name := range []string{"kept", "unseen"} {
		f.Apply(container(t, f, name, "type: job", shell(untilFile("/tmp/end", "exit 7"))))
	}
	for _, name := range []string{"crash", "kept", "unseen"} {
		f.AwaitPhase(name, soon, v1.PhaseRunning)
	}
	first := inspect(t, f, "crash")
	f.Temporal.Kill()

	crash := func() {
		before := inspect(t, f, "crash").State.StartedAt
		end("crash")
		harness.Eventually(t, func() bool {
			now := inspect(t, f, "crash").State
			return now.Running && now.StartedAt != before
		}, soon, poll, "its host starts it again")
	}
	crash()
	end("kept")
	record := filepath.Join(agent.DataDir, "workloads", "kept", "record.json")
	harness.Eventually(t, func() bool {
		data, err := os.ReadFile(record)
		return err == nil && strings.Contains(string(data), `"exit"`)
	}, soon, poll, "its end is kept")
	prune("kept")
	agent.Kill()
	end("unseen")
	prune("unseen")
	agent.Start()
	crash()
	agent.Kill()
	f.Temporal.Start()
	agent.Start()

	v := f.AwaitPhase("kept", long, v1.PhaseFailed)
	require.Equal(t, 7, *v.Status.ExitCode)
	require.Equal(t, v1.ReasonExited, v.Status.Reason)
	v = f.AwaitPhase("unseen", long, v1.PhaseFailed)
	require.Equal(t, v1.ReasonUnknown, v.Status.Reason, "nobody saw how it ended")
	f.AwaitWorkload("crash", soon, "its restarts are told", func(v v1.View) bool {
		return v.Status.Phase == v1.PhaseRunning && v.Status.Restarts == 2
	})
	require.Equal(t, first.ID, inspect(t, f, "crash").ID)

	// What is recorded is recorded once, and told no more.
	awaitAcknowledged(t, record)
	told := func(name string) int { return len(f.Past(name).Observed) }
	before := map[string]int{"kept": told("kept"), "unseen": told("unseen")}
	lease := f.AwaitHost(hostName, soon, v1.HostOnline).LeaseNo
	agent.Restart()
	f.AwaitWorkload("crash", soon, "the agent is back", func(v1.View) bool {
		h, err := f.Client().Host(t.Context(), hostName)
		return err == nil && h.State == v1.HostOnline && h.LeaseNo > lease
	})
	f.Apply(container(t, f, "after"))
	f.AwaitPhase("after", soon, v1.PhaseRunning)
	require.Equal(t, before["kept"], told("kept"))
	for name := range before {
		v := f.Workload(name)
		require.Len(t, v.Attempts, 1)
		require.Equal(t, v1.PhaseFailed, v.Status.Phase)
	}
}

// awaitAcknowledged waits until a host's record says that the end of a job's attempt is recorded.
func awaitAcknowledged(t *testing.T, record string) {
	t.Helper()
	harness.Eventually(t, func() bool {
		data, err := os.ReadFile(record)
		return err == nil && strings.Contains(string(data), `"acked":1`)
	}, soon, poll)
}
