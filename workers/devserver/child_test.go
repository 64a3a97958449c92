package devserver

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func child(t *testing.T, script string) *Child {
	t.Helper()
	return &Child{
		Name: "sample", Command: []string{"/bin/sh", "-c", script}, Env: os.Environ(),
		Log:         filepath.Join(t.TempDir(), "logs", "child.log"),
		ReadyWithin: time.Minute, StopWithin: time.Minute, Logger: slog.New(slog.DiscardHandler),
	}
}

func TestChildIsRestartedWhenItDies(t *testing.T) {
	c := child(t, "exec sleep 60")
	require.NoError(t, c.Start(t.Context()))
	t.Cleanup(c.Stop)
	first := c.PID()
	require.NotZero(t, first)
	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
	require.Eventually(t, func() bool { pid := c.PID(); return pid != 0 && pid != first }, 2*time.Minute, 10*time.Millisecond)
}

func TestChildStopsByTermThenKill(t *testing.T) {
	for name, script := range map[string]string{
		"polite":   "exec sleep 60",
		"stubborn": "trap '' TERM; echo set; while :; do sleep 0.05; done",
	} {
		t.Run(name, func(t *testing.T) {
			c := child(t, script)
			c.StopWithin = 200 * time.Millisecond
			require.NoError(t, c.Start(t.Context()))
			pid := c.PID()
			c.Stop()
			require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
			c.Stop() // a second stop is harmless
		})
	}
}

func TestStartFailsWithTheChildsOutput(t *testing.T) {
	c := child(t, "echo no such database; exit 3")
	c.Check = func(context.Context) error { return errors.New("nobody listens") }
	err := c.Start(t.Context())
	require.ErrorContains(t, err, "exit status 3")
	require.ErrorContains(t, err, "no such database")
	require.Zero(t, c.PID())
}

func TestStartFailsWhenNotReadyInTime(t *testing.T) {
	c := child(t, "exec sleep 60")
	c.ReadyWithin = 100 * time.Millisecond
	c.Check = func(context.Context) error { return errors.New("nobody listens") }
	require.ErrorContains(t, c.Start(t.Context()), "not ready within 100ms")
	require.Zero(t, c.PID(), "no process is left")
}
