package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

func recordMissing(v v1.View) bool {
	return slices.ContainsFunc(v.Status.Conditions, func(c v1.Condition) bool { return c.Reason == v1.ReasonRecordMissing })
}

// TestALostRecord removes the host's records of workloads while the agent is away: of one that runs, of a job, and of one that
// has ended meanwhile. Nothing is made again because of that.
func TestALostRecord(t *testing.T) {
	oneGuest(t)
	f := fleet(t)
	agent := f.Agents[0]
	f.Apply(vm(f, "guest", harness.ServeFile(t, harness.GuestImage(t)).URL, "", "stopGracePeriod: 1s"))
	f.AwaitPhase("guest", long, v1.PhaseRunning)
	guest := domainID(t, f, "guest")
	path := func(name string) string { return filepath.Join(agent.DataDir, "workloads", name, "record.json") }
	names := []string{"web", "batch", "ended"}
	f.Apply(container(t, f, "web"))
	f.Apply(container(t, f, "batch", "type: job", shell(untilFile("/tmp/end", "exit 0"))))
	f.Apply(container(t, f, "ended"))
	before := map[string]inspected{}
	for _, name := range names {
		f.AwaitPhase(name, soon, v1.PhaseRunning)
		before[name] = inspect(t, f, name)
	}
	agent.Kill()
	for _, name := range names {
		require.NoError(t, os.Remove(path(name)))
	}
	require.NoError(t, os.Remove(path("guest")))
	docker(t, "kill", containerName(f, "ended"))
	agent.Start()

	f.AwaitWorkload("ended", soon, "it says that its record is missing, and what to do", func(v v1.View) bool {
		return recordMissing(v) && strings.Contains(v.Status.Conditions[0].Message, "berth restart")
	})
	for _, name := range []string{"web", "batch"} {
		harness.Eventually(t, func() bool { _, err := os.Stat(path(name)); return err == nil }, soon, poll, "the record is there again")
		f.AwaitWorkload(name, soon, "its record is there again", func(v v1.View) bool { return v.Status.Phase == v1.PhaseRunning && !recordMissing(v) })
		require.Equal(t, before[name].ID, inspect(t, f, name).ID)
		require.Equal(t, before[name].State.StartedAt, inspect(t, f, name).State.StartedAt)
		require.Zero(t, f.Workload(name).Status.Restarts)
	}
	harness.Eventually(t, func() bool { _, err := os.Stat(path("guest")); return err == nil }, soon, poll, "the record is there again")
	f.AwaitWorkload("guest", soon, "its record is there again", func(v v1.View) bool { return v.Status.Phase == v1.PhaseRunning && !recordMissing(v) })
	require.Equal(t, guest, domainID(t, f, "guest"))
	require.NoFileExists(t, path("ended"))
	require.False(t, inspect(t, f, "ended").State.Running, "nobody has asked for it")

	// The host looks after them again.
	docker(t, "kill", containerName(f, "web"))
	harness.Eventually(t, func() bool { return inspect(t, f, "web").State.Running }, soon, poll)
	docker(t, "exec", containerName(f, "batch"), "touch", "/tmp/end")
	f.AwaitPhase("batch", soon, v1.PhaseSucceeded)
	awaitSettled(f, f.Do("ended", v1.VerbRestart))
	f.AwaitWorkload("ended", soon, "it runs, and its record is there", func(v v1.View) bool { return v.Status.Phase == v1.PhaseRunning && !recordMissing(v) })
	require.Equal(t, before["ended"].ID, inspect(t, f, "ended").ID)
	for _, name := range append(names, "guest") {
		remove(t, f, name)
	}
}

// TestALostRecordOfWhatIsDown removes the record of a workload that waits for its next start. Nobody starts it, and it says so.
func TestALostRecordOfWhatIsDown(t *testing.T) {
	t.Parallel()
	f := fleet(t)
	agent := f.Agents[0]
	f.Apply(container(t, f, "web", shell("exit 3")))
	f.AwaitWorkload("web", soon, "it waits for its next start, for long enough to be caught at it", func(v v1.View) bool {
		return v.Status.Phase == v1.PhaseDegraded && v.Status.NextTry != nil && time.Until(*v.Status.NextTry) > 2*time.Second
	})
	agent.Kill()
	require.False(t, inspect(t, f, "web").State.Running)
	require.NoError(t, os.Remove(filepath.Join(agent.DataDir, "workloads", "web", "record.json")))
	agent.Start()
	f.AwaitWorkload("web", soon, "it says that nobody starts it, and what to do", func(v v1.View) bool {
		return v.Status.Phase == v1.PhaseDegraded && strings.Contains(v.Status.Message, "does not start it again") &&
			recordMissing(v) && strings.Contains(v.Status.Conditions[0].Message, "berth restart") && v.Status.NextTry == nil
	})
	f.Do("web", v1.VerbRestart)
	f.AwaitWorkload("web", soon, "it is looked after again", func(v v1.View) bool { return !recordMissing(v) })
	require.FileExists(t, filepath.Join(agent.DataDir, "workloads", "web", "record.json"))
	remove(t, f, "web")
}

// TestADebtWhoseRecordIsLost lets workloads leave a host that is away, and takes its records from it: it removes what is its debt
// all the same.
func TestADebtWhoseRecordIsLost(t *testing.T) {
	t.Parallel()
	f := harness.NewFleet(t)
	f.StartServer(lossPace...)
	agent := f.StartAgent(hostName, lossPace...)
	f.AwaitHost(hostName, soon, v1.HostOnline)
	names := []string{"moves", "given-up"}
	f.Apply(container(t, f, "moves", "moveAfter: 1s"))
	f.Apply(container(t, f, "given-up", "onHostLoss: wait"))
	for _, name := range names {
		f.AwaitPhase(name, soon, v1.PhaseRunning)
	}
	agent.Kill()
	for _, name := range names {
		require.NoError(t, os.Remove(filepath.Join(agent.DataDir, "workloads", name, "record.json")))
	}
	f.StartAgent("h2", lossPace...)
	f.AwaitWorkload("moves", long, "runs on h2", runsOn("h2"))
	f.AwaitPhase("given-up", soon, v1.PhaseLost)
	require.Equal(t, http.StatusAccepted, call(t, f, http.MethodDelete, "/v1/workloads/given-up?force=true", nil).status)
	f.AwaitGone("given-up", soon)
	require.Len(t, harness.RunningContainers(t, f.ID), 3, "what runs on a host that is away runs on")
	agent.Start()
	f.AwaitHost(hostName, soon, v1.HostOnline)
	harness.Eventually(t, func() bool { return len(harness.Containers(t, f.ID)) == 1 }, soon, poll, "the host has paid")
	require.Equal(t, []string{"berth." + f.ID + ".h2.moves"}, harness.RunningContainers(t, f.ID))
	remove(t, f, "moves")
}

// TestARecordThatIsRemovedUnderARunningAgent is none that is lost: the next sweep has the agent write it again.
func TestARecordThatIsRemovedUnderARunningAgent(t *testing.T) {
	t.Parallel()
	f := unscheduled(t, fleet(t))
	agent := f.Agents[0]
	f.Apply(container(t, f, "web"))
	f.AwaitPhase("web", soon, v1.PhaseRunning)
	before := inspect(t, f, "web")
	path := filepath.Join(agent.DataDir, "workloads", "web", "record.json")
	require.NoError(t, os.Remove(path))
	code, s := sweep(t, f)
	require.Zero(t, code, s.Summary)
	require.FileExists(t, path)

	agent.Kill()
	agent.Start()
	docker(t, "kill", containerName(f, "web"))
	harness.Eventually(t, func() bool {
		now := inspect(t, f, "web").State
		return now.Running && now.StartedAt != before.State.StartedAt
	}, soon, poll, "its host looks after it")
	v := f.AwaitPhase("web", soon, v1.PhaseRunning)
	require.False(t, recordMissing(v))
	require.Equal(t, before.ID, inspect(t, f, "web").ID)
	remove(t, f, "web")
}
