package deadline_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/deadline"
	v1 "github.com/berth-dev/berth/api/v1"
)

func dir(t *testing.T) deadline.Dir {
	t.Helper()
	d := deadline.DirOf(t.TempDir(), "f", "h1")
	require.NoError(t, d.Make())
	return d
}

func TestTheFileIsReadAsItWasWritten(t *testing.T) {
	d := dir(t)
	_, err := d.Read()
	require.ErrorIs(t, err, os.ErrNotExist)
	want := deadline.File{
		BootID: deadline.BootID(), Fleet: "f", Host: "h1", Agent: deadline.Process{PID: 7, Start: 9}, Held: true, Stopping: true,
		Deadline: 90 * time.Second, DockerHost: "unix:///d", LibvirtURI: "qemu:///system",
		Runtimes: []deadline.Runtime{{
			Workload: "web", Kind: v1.KindContainer, Grace: time.Second, Stopped: true,
			Processes: []deadline.Process{{PID: 8, Start: 10}},
		}},
	}
	require.NoError(t, d.Write(want))
	got, err := d.Read()
	require.NoError(t, err)
	require.Equal(t, want, got)
	info, err := os.Stat(string(d))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), "whoever writes there has root kill processes")
}

func TestAGuardIsKnownByItsSignOfLife(t *testing.T) {
	d := dir(t)
	require.False(t, d.Guarded())
	require.NoError(t, d.Beat())
	require.True(t, d.Guarded())
	for name, beat := range map[string]map[string]any{
		"silent for long": {"bootId": deadline.BootID(), "at": deadline.Now() - 11*time.Second},
		"of another boot": {"bootId": "other", "at": deadline.Now()},
	} {
		data, err := json.Marshal(beat)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(string(d), "guard.json"), data, 0o600))
		require.False(t, d.Guarded(), name)
	}
}

func TestARoleIsHeldOnce(t *testing.T) {
	d := deadline.DirOf(t.TempDir(), "f", "h1")
	release, err := d.Hold(deadline.Guard)
	require.NoError(t, err)
	_, err = d.Hold(deadline.Guard)
	require.ErrorContains(t, err, "another guard of this host runs")
	other, err := d.Hold(deadline.Agent)
	require.NoError(t, err)
	require.NoError(t, other())
	require.NoError(t, release())
	release, err = d.Hold(deadline.Guard)
	require.NoError(t, err)
	require.NoError(t, release())
}

func TestAStopIsNotedUntilItIsForgotten(t *testing.T) {
	d := dir(t)
	require.False(t, d.WasStopped("web"))
	require.NoError(t, d.NoteStopped("web"))
	require.NoError(t, d.NoteStopped("web"))
	require.True(t, d.WasStopped("web"))
	require.NoError(t, d.ForgetStopped("web"))
	require.False(t, d.WasStopped("web"))
	require.NoError(t, d.ForgetStopped("web"))
}

// sleeper is a process that runs until it is killed, and ignores what can be ignored.
func sleeper(t *testing.T) (deadline.Process, *exec.Cmd) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "trap '' TERM INT; echo ready; while :; do sleep 1; done")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	p, err := deadline.ProcessOf(cmd.Process.Pid)
	require.NoError(t, err)
	return p, cmd
}

func TestAFrozenProcessIsKilled(t *testing.T) {
	p, cmd := sleeper(t)
	require.True(t, p.Runs())
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	require.NoError(t, p.Kill(10*time.Second))
	require.False(t, p.Runs(), "also while its parent has not waited for it")
	_, err := deadline.ProcessOf(p.PID)
	require.ErrorIs(t, err, deadline.ErrGone)
	require.Error(t, cmd.Wait())
	require.NoError(t, p.Kill(time.Second), "it is gone")
}

func TestAnotherProcessOfTheSameNumberIsLeftAlone(t *testing.T) {
	p, _ := sleeper(t)
	before := deadline.Process{PID: p.PID, Start: p.Start - 1}
	require.False(t, before.Runs())
	require.NoError(t, before.Kill(time.Second))
	require.True(t, p.Runs())
	require.NoError(t, deadline.Process{}.Kill(time.Second), "none was written")
}
