package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
	"github.com/berth-dev/berth/workflows/contract"
)

// idleVM is a virtual machine with an empty disk, which has nothing to boot.
func idleVM(f *harness.Fleet, name string) *v1.Workload {
	return f.Parse("apiVersion: berth/v1\nkind: VM\nmetadata: {name: " + name + "}\nspec: {vcpus: 1, memory: 64Mi, stopGracePeriod: 1s, " +
		"disks: [{name: root, size: 8Mi}], cloudInit: {userData: '#cloud-config'}, readiness: {when: running}}\n")
}

// TestAnEndedWorkflow terminates the workflow of a virtual machine, as in the Web UI.
func TestAnEndedWorkflow(t *testing.T) {
	t.Parallel()
	f := unscheduled(t, fleet(t))
	f.Apply(idleVM(f, "db"))
	f.AwaitPhase("db", long, v1.PhaseRunning)
	disk := filepath.Join(f.Agents[0].DataDir, "workloads", "db", "disk-root.qcow2")
	before, err := os.ReadFile(disk)
	require.NoError(t, err)
	code, s := sweep(t, f)
	require.Zero(t, code)
	require.Equal(t, v1.SweepSummary{Hosts: 1, SkippedLive: 4}, s.Summary, "domain, disk, seed and record")

	f.Temporal.CLI("workflow", "terminate", "--workflow-id", contract.WorkloadID("db"))
	aged(t)
	code, s = sweep(t, f, deleting...)
	require.Zero(t, code, s.Message)
	require.Equal(t, v1.SweepSummary{Hosts: 1, Orphaned: 2, Deleted: 2, Unexplained: 2}, s.Summary)
	require.ElementsMatch(t, []string{"disk workloads/db/disk-root.qcow2", "record db"}, things(s, v1.VerdictUnexplained))
	require.ElementsMatch(t, []string{"domain " + containerName(f, "db"), "seed workloads/db/seed.iso"}, things(s, v1.VerdictDeleted))
	require.Empty(t, domainsOf(t, f, "db"))
	after, err := os.ReadFile(disk)
	require.NoError(t, err)
	require.Equal(t, before, after, "its disk stays")
	require.Equal(t, 1, f.AwaitHost(hostName, soon, v1.HostOnline).Workloads, "and so does its room")

	// Applied again, it goes on with its disk.
	info, err := os.Stat(disk)
	require.NoError(t, err)
	f.Apply(idleVM(f, "db"))
	f.AwaitPhase("db", long, v1.PhaseRunning)
	again, err := os.Stat(disk)
	require.NoError(t, err)
	require.True(t, os.SameFile(info, again))
	code, s = sweep(t, f, deleting...)
	require.Zero(t, code, s.Message)
	require.Equal(t, v1.SweepSummary{Hosts: 1, SkippedLive: 4}, s.Summary)
	remove(t, f, "db")
}

// TestADiskThatIsTakenAgain leaves the disk of a removed workload behind, which may go, and lets a new workload of the name
// take it while a sweep is about to remove it.
func TestADiskThatIsTakenAgain(t *testing.T) {
	t.Parallel()
	f := heldFleet(t)
	f.Apply(idleVM(f, "db"))
	f.AwaitPhase("db", long, v1.PhaseRunning)
	dir := filepath.Join(f.Agents[0].DataDir, "workloads", "db")
	kept := map[string][]byte{}
	for _, name := range []string{"disk-root.qcow2", "disk-root.qcow2.berth.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		kept[name] = data
	}
	remove(t, f, "db")
	disk := filepath.Join(dir, "disk-root.qcow2")
	require.NoFileExists(t, disk)
	for name, data := range kept {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	left, err := os.Stat(disk)
	require.NoError(t, err)
	aged(t)
	code, s := sweep(t, f, "--grace", quick)
	require.Zero(t, code)
	require.Equal(t, []string{"disk workloads/db/disk-root.qcow2"}, things(s, v1.VerdictOrphan), "the tombstone is proof")

	f.Arm("Discard.begin@" + hostName)
	s = begin(t, f)
	f.AwaitHit("Discard.begin@"+hostName, soon)
	f.Apply(idleVM(f, "db"))
	f.AwaitPhase("db", long, v1.PhaseRunning)
	f.Release("Discard.begin@" + hostName)
	s = sweepEnd(t, f, s.ID)
	require.Equal(t, v1.SweepSucceeded, s.State, s.Message)
	require.Zero(t, s.Summary.Deleted)
	now, err := os.Stat(disk)
	require.NoError(t, err)
	require.True(t, os.SameFile(left, now), "the new workload has the disk, and keeps it")
	require.True(t, running(t, f, "db"))

	// Left behind once more, and taken by nobody, it goes.
	data, err := os.ReadFile(disk)
	require.NoError(t, err)
	remove(t, f, "db")
	kept["disk-root.qcow2"] = data
	for name, data := range kept {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	aged(t)
	code, s = sweep(t, f, deleting...)
	require.Zero(t, code, s.Message)
	require.Equal(t, v1.SweepSummary{Hosts: 1, Orphaned: 1, Deleted: 1, SkippedLive: 1}, s.Summary)
	require.NoFileExists(t, disk)
	require.NoFileExists(t, disk+".berth.json")
}

// TestManyThings sweeps over 5,000 things on synthetic hosts.
func TestManyThings(t *testing.T) {
	t.Parallel()
	const hosts, each = 5, 1_000
	f := harness.NewFleet(t, harness.Synthetic())
	f.StartServer(pace...)
	for i := range hosts {
		host := "s" + string(rune('1'+i))
		agent := f.StartAgent(host, append([]string{"--synthetic"}, pace...)...)
		f.AwaitHost(host, soon, v1.HostOnline)
		agent.Stop()
		writeRecords(t, f, agent, each)
		agent.Start()
	}
	for i := range hosts {
		f.AwaitHost("s"+string(rune('1'+i)), soon, v1.HostOnline)
	}
	unscheduled(t, f)
	start := time.Now()
	code, s := sweep(t, f, deleting...)
	require.Zero(t, code, s.Message)
	require.Equal(t, v1.SweepSummary{Hosts: hosts, Unexplained: hosts * each}, s.Summary)
	require.Len(t, s.Things, v1.SweepThings)
	require.NotEmpty(t, s.NextPageToken)
	t.Logf("%d things in %s (the sweep itself %s)", hosts*each, time.Since(start).Round(10*time.Millisecond),
		s.EndedAt.Sub(s.StartedAt).Round(10*time.Millisecond))

	seen := map[string]bool{}
	for token := ""; ; {
		page, err := f.Client().Sweep(t.Context(), s.ID, 200, token)
		require.NoError(t, err)
		for _, thing := range page.Things {
			seen[thing.Host+"/"+thing.Name] = true
		}
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	require.Len(t, seen, hosts*each, "the rest is paged")
}
