package harness

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
)

func TestTemporalKeepsItsStateOverAKill(t *testing.T) {
	s := StartTemporal(t, t.TempDir())
	run, err := s.Client().ExecuteWorkflow(t.Context(),
		client.StartWorkflowOptions{ID: "kept", TaskQueue: "nobody"}, "Nothing")
	require.NoError(t, err)
	first := s.PID()

	s.Kill()
	require.False(t, s.Running())
	require.ErrorIs(t, syscall.Kill(first, 0), syscall.ESRCH)
	s.Start()

	desc, err := s.Client().DescribeWorkflow(t.Context(), "kept", "")
	require.NoError(t, err)
	require.Equal(t, run.GetRunID(), desc.WorkflowExecution.RunID)
	require.Contains(t, s.CLI("operator", "search-attribute", "list"), "BerthWorkload")
	s.Stop()
	require.False(t, s.Running())
}

func TestProcessEndsWithItsChildren(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	p := Run(t, Command{Name: "sh", Path: "/bin/sh", Args: []string{"-c", "sleep 600 & echo $! >$0.new; mv $0.new $0; wait", pidFile}})
	Eventually(t, func() bool {
		_, err := os.Stat(pidFile)
		return err == nil
	}, briefly, 5*time.Millisecond)
	p.Kill()
	pid := readPID(t, pidFile)
	Eventually(t, func() bool { return !runs(pid) }, briefly, 5*time.Millisecond)
}

func TestProcessIsStartedAgainWithOneLog(t *testing.T) {
	p := Run(t, Command{Name: "sh", Path: "/bin/sh", Args: []string{"-c", "echo one; exit 3"}})
	require.Equal(t, 3, p.Await(briefly))
	p.SetArgs("-c", "echo two $WORD")
	p.SetEnv("WORD=three")
	p.Start()
	require.Zero(t, p.Await(briefly))
	require.Equal(t, "one\ntwo three\n", p.Log())
}

func TestClearHostRemovesOnlyItsFleet(t *testing.T) {
	image := ContainerImage(t)
	mine, other := uniqueID(t), uniqueID(t)
	for _, fleet := range []string{mine, other} {
		t.Cleanup(func() { ClearHost(t, fleet) })
		output(t, "docker", "run", "--detach", "--network", "none", "--label", "berth.fleet="+fleet, "--name", "berth."+fleet+".h.w", image)
		output(t, "docker", "volume", "create", "--label", "berth.fleet="+fleet, "berth."+fleet+".h.v")
		define(t, "berth."+fleet+".h.w")
	}
	require.Len(t, RunningContainers(t, mine), 1)
	require.Equal(t, []string{"berth." + mine + ".h.w"}, Domains(t, mine))

	ClearHost(t, mine)
	require.Empty(t, Containers(t, mine))
	require.Empty(t, Volumes(t, mine))
	require.Empty(t, Domains(t, mine))
	require.Len(t, RunningContainers(t, other), 1)
	require.Len(t, Volumes(t, other), 1)
	require.Len(t, Domains(t, other), 1)
}

// TestGuestImageBoots boots the image once as it is used: by libvirt, on an overlay, ready on the serial console.
func TestGuestImageBoots(t *testing.T) {
	image := GuestImage(t)
	dir := OpenDir(t, "guest")
	disk, console := filepath.Join(dir, "disk.qcow2"), filepath.Join(dir, "console.log")
	output(t, "qemu-img", "convert", "-f", "qcow2", "-O", "qcow2", image, disk)
	fleet := uniqueID(t)
	t.Cleanup(func() { ClearHost(t, fleet) })
	name := "berth." + fleet + ".h.guest"
	defineXML(t, guestXML(name, disk, console))
	Virsh(t, "start", name)
	Eventually(t, func() bool { return contains(console, "GUEST-READY") }, briefly, 20*time.Millisecond)
	require.True(t, contains(console, "boots: 1"))
	Eventually(t, func() bool {
		if len(RunningDomains(t, fleet)) == 0 {
			return true
		}
		// A guest that has just booted may miss the button. It may be off by now, too.
		_, _ = try("virsh", "-q", "-c", "qemu:///system", "shutdown", "--mode", "acpi", name)
		return false
	}, briefly, 2*time.Second)
}
