package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// TestOrphansThatDoNotHeedTERM has more of them than a sweep could remove in time one after the other.
func TestOrphansThatDoNotHeedTERM(t *testing.T) {
	t.Parallel()
	const orphans = 10
	f := unscheduled(t, fleet(t))
	f.Apply(container(t, f, "web"))
	f.AwaitPhase("web", soon, v1.PhaseRunning)
	for i := range orphans {
		workload := fmt.Sprintf("ghost%d", i)
		args := append([]string{"run", "--detach", "--stop-timeout", "4", "--name", containerName(f, workload)}, marks(f.ID, hostName, workload)...)
		docker(t, append(args, harness.ContainerImage(t), "/bin/busybox", "sh", "-c", "trap '' TERM; while :; do sleep 1; done")...)
	}
	aged(t)
	events := harness.Run(t, harness.Command{Name: "docker-events", Path: "docker", Args: []string{
		"events", "--since", strconv.FormatInt(time.Now().Unix(), 10), "--filter", "label=berth.fleet=" + f.ID,
		"--filter", "event=kill", "--filter", "event=die", "--format", "{{.Action}} {{.ID}}",
	}})
	code, s := sweep(t, f, deleting...)
	require.Zero(t, code, s.Message)
	require.Equal(t, v1.SweepSummary{Hosts: 1, Orphaned: orphans, Deleted: orphans, SkippedLive: 2}, s.Summary)
	require.Equal(t, []string{containerName(f, "web")}, harness.Containers(t, f.ID))
	t.Logf("%d containers that do not heed TERM: %s", orphans, s.EndedAt.Sub(s.StartedAt).Round(10*time.Millisecond))

	// Between its TERM and its end each of them is being waited for.
	harness.Eventually(t, func() bool { return strings.Count(events.Log(), "die ") == orphans }, soon, poll)
	ending, most := map[string]bool{}, 0
	for event := range strings.Lines(events.Log()) {
		action, id, _ := strings.Cut(strings.TrimSpace(event), " ")
		if action == "die" {
			delete(ending, id)
			continue
		}
		ending[id] = true
		most = max(most, len(ending))
	}
	require.GreaterOrEqual(t, most, 2, "several go at a time:\n%s", events.Log())
}

// TestAnAgentThatDiesWhileItRemoves is killed among several removals, and is back at once.
func TestAnAgentThatDiesWhileItRemoves(t *testing.T) {
	t.Parallel()
	f := heldFleet(t)
	f.Apply(container(t, f, "web", "volumes: [{name: data, target: /data}]"))
	f.AwaitPhase("web", soon, v1.PhaseRunning)
	const orphans = 4
	for i := range orphans {
		workload := fmt.Sprintf("ghost%d", i)
		stray(t, containerName(f, workload), f.ID, hostName, workload)
	}
	aged(t)
	const place = "container.remove.after@ghost2"
	f.ArmKill(place)
	s := begin(t, f)
	f.AwaitHit(place, soon)
	require.NotZero(t, f.Agents[0].Await(soon))
	f.Release(place)
	f.Agents[0].Start()
	s = sweepEnd(t, f, s.ID)
	require.Equal(t, v1.SweepSucceeded, s.State, s.Message)
	require.Equal(t, v1.SweepSummary{Hosts: 1, Orphaned: orphans, Deleted: orphans, SkippedLive: 3}, s.Summary, "those that are gone count as well")
	require.Equal(t, []string{containerName(f, "web")}, harness.Containers(t, f.ID))
	require.Len(t, harness.Volumes(t, f.ID), 1)
}
