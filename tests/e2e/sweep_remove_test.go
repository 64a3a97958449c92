package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// killInRemove deletes a workload, kills its agent at a place of the removal, and sweeps while the removal is tried again.
func killInRemove(t *testing.T, f *harness.Fleet, name, place, again string, volumes bool) {
	t.Helper()
	place, again = place+"@"+name, again+"@"+name
	f.ArmKill(place)
	_, err := f.Client().Do(t.Context(), name, v1.VerbRemove, client.Change{Volumes: volumes})
	require.NoError(t, err)
	f.AwaitHit(place, soon)
	require.NotZero(t, f.Agents[0].Await(soon))
	f.Release(place)
	f.Arm(again)
	f.Agents[0].Start()
	f.AwaitHost(hostName, soon, v1.HostOnline)
	f.AwaitHit(again, soon)
	aged(t)
	code, s := sweep(t, f, deleting...)
	require.Zero(t, code, s.Message)
	require.Zero(t, s.Summary.Orphaned, "%+v", s.Things)
	require.Zero(t, s.Summary.Unexplained, "%+v", s.Things)
	f.Release(again)
	f.AwaitGone(name, long)
	// What is left is judged once more, with nobody at work on it.
	aged(t)
	code, s = sweep(t, f, deleting...)
	require.Zero(t, code, s.Message)
	require.Zero(t, s.Summary.Orphaned, "the removal left nothing: %+v", s.Things)
}

// TestAKilledRemoveOfAContainerAndASweep has a neighbour that must not notice.
func TestAKilledRemoveOfAContainerAndASweep(t *testing.T) {
	t.Parallel()
	f := heldFleet(t)
	volumes := "volumes: [{name: one, target: /one}, {name: two, target: /two}]"
	f.Apply(container(t, f, "next", volumes))
	f.AwaitPhase("next", soon, v1.PhaseRunning)
	next := inspect(t, f, "next").ID
	for _, place := range []string{"container.stop.after", "container.remove.before", "container.remove.after", "container.volume.remove.after"} {
		t.Run(place, func(t *testing.T) {
			f := f.In(t)
			purged := place == "container.volume.remove.after"
			f.Apply(container(t, f, "web", volumes))
			f.AwaitWorkload("web", soon, "runs", func(v v1.View) bool { return v.Status.Phase == v1.PhaseRunning && v.Status.Settled })
			killInRemove(t, f, "web", place, "container.Remove.begin", purged)
			require.Empty(t, containersOf(t, f, "web"))
			left := only(t, f, "web", harness.Volumes(t, f.ID))
			if purged {
				require.Empty(t, left)
			} else {
				require.Len(t, left, 2, "named volumes stay")
			}
			require.Equal(t, next, inspect(t, f, "next").ID)
			require.Len(t, only(t, f, "next", harness.Volumes(t, f.ID)), 2)
			require.Equal(t, 1, f.AwaitHost(hostName, soon, v1.HostOnline).Workloads)
		})
	}
}

// TestAKilledRemoveOfAMachineAndASweep looks for the domain, and for the files.
func TestAKilledRemoveOfAMachineAndASweep(t *testing.T) {
	t.Parallel()
	f := heldFleet(t)
	f.Apply(idleVM(f, "next"))
	f.AwaitPhase("next", long, v1.PhaseRunning)
	for _, place := range []string{"vm.destroy.after", "vm.undefine.after", "vm.remove-disks.before", "vm.remove-disks.removed"} {
		t.Run(place, func(t *testing.T) {
			f := f.In(t)
			f.Apply(idleVM(f, "db"))
			f.AwaitWorkload("db", long, "runs", func(v v1.View) bool { return v.Status.Phase == v1.PhaseRunning && v.Status.Settled })
			killInRemove(t, f, "db", place, "vm.Remove.begin", false)
			require.Empty(t, domainsOf(t, f, "db"))
			files, err := os.ReadDir(filepath.Join(f.Agents[0].DataDir, "workloads", "db"))
			require.NoError(t, err)
			require.Len(t, files, 1, "%v", files)
			require.Equal(t, "record.json", files[0].Name())
			require.True(t, running(t, f, "next"))
			require.FileExists(t, filepath.Join(f.Agents[0].DataDir, "workloads", "next", "disk-root.qcow2"))
		})
	}
}

// TestASweepDuringAMove holds a move when both copies are there, and when the old one is about to go.
func TestASweepDuringAMove(t *testing.T) {
	t.Parallel()
	f := harness.NewFleet(t, harness.Failpoints())
	f.StartServer(pace...)
	f.StartAgent("h1", pace...)
	f.AwaitHost("h1", soon, v1.HostOnline)
	f.Apply(container(t, f, "web"))
	f.AwaitPhase("web", soon, v1.PhaseRunning)
	f.StartAgent("h2", pace...)
	f.AwaitHost("h2", soon, v1.HostOnline)
	unscheduled(t, f)
	old := idOf(t, "berth."+f.ID+".h1.web")

	live := func(place string, containers int) {
		t.Helper()
		aged(t)
		code, s := sweep(t, f, deleting...)
		require.Zero(t, code, s.Message)
		require.Equal(t, v1.SweepSummary{Hosts: 2, SkippedLive: containers + 2}, s.Summary, "%s: containers and records: %+v", place, s.Things)
		require.Len(t, harness.Containers(t, f.ID), containers)
	}
	for _, place := range []string{"container.start.after@web", "container.remove.before@web"} {
		f.Arm(place)
	}
	code, out := f.CLI("drain", "h1")
	require.Zero(t, code, out)
	f.AwaitHit("container.start.after@web", soon)
	live("both run", 2)
	require.Equal(t, old, idOf(t, "berth."+f.ID+".h1.web"))
	f.Release("container.start.after@web")
	f.AwaitHit("container.remove.before@web", soon)
	live("the old one goes", 2)
	f.Release("container.remove.before@web")
	f.AwaitWorkload("web", long, "runs on h2", runsOn("h2"))
	harness.Eventually(t, func() bool { return len(harness.Containers(t, f.ID)) == 1 }, soon, poll)
	moved := idOf(t, "berth."+f.ID+".h2.web")
	code, s := sweep(t, f, deleting...)
	require.Zero(t, code, s.Message)
	require.Zero(t, s.Summary.Orphaned+s.Summary.Repaired+s.Summary.Unexplained, "%+v", s.Things)
	require.Equal(t, moved, idOf(t, "berth."+f.ID+".h2.web"))
}
