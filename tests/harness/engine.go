package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Engine is a Docker engine of a host's own, in a namespace, so that it can go down with its host.
type Engine struct {
	*Process
	// Address is what a client is told, "unix:///...".
	Address string

	t   testing.TB
	dir string
}

// StartEngine starts an engine, and removes all of it when the test ends.
func (n *Net) StartEngine() *Engine {
	n.t.Helper()
	dir := OpenDir(n.t, "engine")
	e := &Engine{t: n.t, dir: dir, Address: "unix://" + filepath.Join(dir, "docker.sock")}
	n.t.Cleanup(e.clear)
	// Mounts of its own, so that all of them go with it.
	e.Process = Run(n.t, n.inside(Command{
		Name: "engine-" + n.Name, Path: "unshare", Ready: e.ready,
		Args: []string{
			"--mount", "--propagation", "private", "dockerd", "--host", e.Address, "--data-root", filepath.Join(dir, "data"),
			"--exec-root", filepath.Join(dir, "exec"), "--pidfile", filepath.Join(dir, "pid"),
		},
	}))
	return e
}

// Load copies an image from this machine's engine.
func (e *Engine) Load(image string) {
	e.t.Helper()
	saved := filepath.Join(e.dir, "image.tar")
	output(e.t, "docker", "save", "--output", saved, image)
	output(e.t, "docker", "--host", e.Address, "load", "--input", saved)
}

// Docker runs the CLI of Docker against the engine, and returns what it printed.
func (e *Engine) Docker(args ...string) string {
	e.t.Helper()
	return output(e.t, "docker", append([]string{"--host", e.Address}, args...)...)
}

// Crash ends the engine and its containers as when the machine loses its power: nobody is asked, or notes anything.
func (e *Engine) Crash() {
	e.t.Helper()
	var all []int
	for _, id := range lines(e.Docker("ps", "--quiet")) {
		pid, err := strconv.Atoi(strings.TrimSpace(e.Docker("inspect", "--format", "{{.State.Pid}}", id)))
		require.NoError(e.t, err)
		shim, err := parent(pid)
		require.NoError(e.t, err)
		all = append(all, shim, pid) // the shim first: it would note the container's end
	}
	e.Kill()
	for _, pid := range all {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			require.ErrorIs(e.t, err, syscall.ESRCH)
		}
	}
	for _, pid := range all {
		Eventually(e.t, func() bool { return !runs(pid) }, briefly, 5*time.Millisecond)
	}
	// What the engine keeps in memory is not there after a boot.
	require.NoError(e.t, os.RemoveAll(filepath.Join(e.dir, "exec")))
	require.NoError(e.t, os.RemoveAll(filepath.Join(e.dir, "pid")))
}

func (e *Engine) ready(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "docker", "--host", e.Address, "version", "--format", "{{.Server.Version}}").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// clear ends what the engine runs. Its directory is removed afterwards.
func (e *Engine) clear() {
	defer e.reap()
	if e.Process == nil || !e.Running() {
		return
	}
	ids, err := try("docker", "--host", e.Address, "ps", "--all", "--quiet")
	if err == nil && ids != "" {
		ids, err = try("docker", append([]string{"--host", e.Address, "rm", "--force", "--volumes"}, lines(ids)...)...)
	}
	if err != nil {
		e.t.Errorf("remove the engine's containers: %s", ids)
	}
	e.Stop()
}

// reap kills the shims that an engine which crashed left behind.
func (e *Engine) reap() {
	if out, err := try("pkill", "--signal", "KILL", "--full", e.dir); err != nil && out != "" {
		e.t.Errorf("kill what the engine left: %s", out)
	}
}

// parent is the process that a process was started by.
func parent(pid int) (int, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, ok := bytes.Cut(stat, []byte(") "))
	fields := strings.Fields(string(rest))
	if !ok || len(fields) < 2 {
		return 0, errors.New("no parent in " + string(stat))
	}
	return strconv.Atoi(fields[1])
}

// runs is false for a process that is gone or only waits to be reaped.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}
