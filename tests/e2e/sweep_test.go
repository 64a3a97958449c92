package e2e

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// sweep runs `berth sweep --once` and returns its exit code and what it said.
func sweep(t *testing.T, f *harness.Fleet, args ...string) (int, v1.Sweep) {
	t.Helper()
	code, out := f.CLI(append([]string{"sweep", "--once", "-o", "json"}, args...)...)
	var s v1.Sweep
	start := strings.IndexByte(out, '{')
	require.GreaterOrEqual(t, start, 0, out)
	// What went wrong is told after it.
	require.NoError(t, json.NewDecoder(strings.NewReader(out[start:])).Decode(&s), out)
	return code, s
}

// unscheduled makes a fleet ready for sweeps that are asked for: the schedule starts none in between, beside which they would be
// refused, and its hosts are in the list by which a sweep finds them.
func unscheduled(t *testing.T, f *harness.Fleet) *harness.Fleet {
	t.Helper()
	on := true
	_, err := f.Client().ChangeSweepSchedule(t.Context(), v1.SweepScheduleChange{Paused: &on})
	require.NoError(t, err)
	harness.Eventually(t, func() bool {
		list, err := f.Client().Hosts(t.Context(), len(f.Agents), "")
		return err == nil && len(list.Items) == len(f.Agents)
	}, soon, poll)
	return f
}

// things are those of a sweep that got a verdict, as "kind name".
func things(s v1.Sweep, verdict v1.Verdict) []string {
	var out []string
	for _, thing := range s.Things {
		if thing.Verdict == verdict {
			out = append(out, thing.Kind+" "+thing.Name)
		}
	}
	return out
}

// marks are the labels that Berth gives, as arguments of docker.
func marks(fleet, host, workload string) []string {
	fence := strconv.FormatInt(time.Now().UnixMilli(), 10)
	return []string{
		"--label", "berth.fleet=" + fleet, "--label", "berth.host=" + host, "--label", "berth.workload=" + workload,
		"--label", "berth.generation=1", "--label", "berth.fence=" + fence, "--label", "berth.attempt=0",
	}
}

// stray makes a container by hand, as if Berth had left it.
func stray(t *testing.T, name, fleet, host, workload string) {
	t.Helper()
	args := append([]string{"run", "--detach", "--name", name}, marks(fleet, host, workload)...)
	docker(t, append(args, harness.ContainerImage(t), "/bin/busybox", "sh", "-c", idle)...)
}

// aged waits until what was just made is older than the grace of these tests.
func aged(t *testing.T) {
	t.Helper()
	made := time.Now()
	harness.Eventually(t, func() bool { return time.Since(made) > 2*time.Second }, soon, poll)
}

// quick is a grace that tests can wait for.
const quick = "1s"

func TestSweep(t *testing.T) {
	t.Parallel()
	f, other := unscheduled(t, fleet(t)), unscheduled(t, fleet(t))
	prefix := "berth." + f.ID + "." + hostName + "."
	for _, one := range []*harness.Fleet{f, other} {
		one.Apply(container(t, one, "web", "volumes: [{name: data, target: /data}]"))
		one.AwaitPhase("web", soon, v1.PhaseRunning)
	}
	theirs := inspect(t, other, "web").ID

	stray(t, prefix+"ghost", f.ID, hostName, "ghost")
	stray(t, f.ID+"-copy", f.ID, hostName, "ghost")
	stray(t, "berth."+f.ID+".h9.ghost", f.ID, "h9", "ghost")
	docker(t, append(append([]string{"volume", "create"}, marks(f.ID, hostName, "ghost")...), prefix+"ghost.data")...)
	docker(t, append(append([]string{"network", "create"}, marks(f.ID, hostName, "ghost")...), prefix+"ghost.net")...)
	t.Cleanup(func() { docker(t, "network", "prune", "--force", "--filter", "label=berth.fleet="+f.ID) })
	before := harness.Containers(t, f.ID)

	t.Run("a dry run lists, and removes nothing", func(t *testing.T) {
		code, s := sweep(t, f.In(t))
		require.Zero(t, code)
		require.Equal(t, v1.SweepSummary{Hosts: 1, Orphaned: 2, SkippedGrace: 2, SkippedLive: 3, Unexplained: 2}, s.Summary)
		aged(t)
		code, s = sweep(t, f.In(t), "--grace", quick)
		require.Zero(t, code)
		require.Equal(t, v1.SweepSummary{Hosts: 1, Orphaned: 2, SkippedLive: 3, Unexplained: 2}, s.Summary)
		require.ElementsMatch(t, []string{"container " + prefix + "ghost", "network " + prefix + "ghost.net"}, things(s, v1.VerdictOrphan))
		require.ElementsMatch(t, []string{"container " + f.ID + "-copy", "volume " + prefix + "ghost.data"}, things(s, v1.VerdictUnexplained))
		require.ElementsMatch(t, before, harness.Containers(t, f.ID))
	})
	t.Run("more than a fifth is not removed unless it is asked", func(t *testing.T) {
		code, s := sweep(t, f.In(t), "--delete", "--grace", quick)
		require.NotZero(t, code)
		require.Equal(t, v1.SweepFailed, s.State)
		require.Contains(t, s.Message, "2 of 7 things")
		require.Zero(t, s.Summary.Deleted)
		require.ElementsMatch(t, before, harness.Containers(t, f.ID))
	})
	t.Run("what is too young is not removed", func(t *testing.T) {
		code, s := sweep(t, f.In(t), "--delete", "--allow-many")
		require.Zero(t, code)
		require.Equal(t, v1.SweepSummary{Hosts: 1, Orphaned: 2, SkippedGrace: 2, SkippedLive: 3, Unexplained: 2}, s.Summary)
		require.ElementsMatch(t, before, harness.Containers(t, f.ID))
	})
	t.Run("orphans are removed", func(t *testing.T) {
		code, s := sweep(t, f.In(t), "--delete", "--grace", quick, "--allow-many")
		require.Zero(t, code, s.Message)
		require.Equal(t, v1.SweepSummary{Hosts: 1, Orphaned: 2, Deleted: 2, SkippedLive: 3, Unexplained: 2}, s.Summary)
		require.ElementsMatch(t, []string{prefix + "web", f.ID + "-copy", "berth." + f.ID + ".h9.ghost"}, harness.Containers(t, f.ID))
		require.ElementsMatch(t, []string{prefix + "web.data", prefix + "ghost.data"}, harness.Volumes(t, f.ID))
	})
	code, s := sweep(t, f, "--host", hostName)
	require.Zero(t, code)
	require.Equal(t, v1.SweepSummary{Hosts: 1, SkippedLive: 3, Unexplained: 2}, s.Summary)
	require.Equal(t, theirs, inspect(t, other, "web").ID)
	require.Len(t, harness.Volumes(t, other.ID), 1)
	_, s = sweep(t, other)
	require.Equal(t, v1.SweepSummary{Hosts: 1, SkippedLive: 3}, s.Summary)
}
