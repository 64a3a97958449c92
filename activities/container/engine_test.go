package container_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/client"
	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// engine is a Docker engine of the test's own, which it may stop.
type engine struct {
	t    *testing.T
	dir  string
	host string
	cmd  *exec.Cmd
	over chan struct{}
}

func newEngine(t *testing.T) *engine {
	dir, err := os.MkdirTemp("", "bd") //nolint:usetesting // a socket's path must be short
	require.NoError(t, err)
	e := &engine{t: t, dir: dir, host: "unix://" + filepath.Join(dir, "d.sock")}
	t.Cleanup(func() {
		e.stop()
		for syscall.Unmount(filepath.Join(dir, "data"), 0) == nil { // one for each start
		}
		require.NoError(t, os.RemoveAll(dir))
	})
	e.start()
	return e
}

func (e *engine) start() {
	log, err := os.OpenFile(filepath.Join(e.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(e.t, err)
	e.cmd = exec.Command("dockerd", "--data-root", filepath.Join(e.dir, "data"), "--exec-root", filepath.Join(e.dir, "exec"),
		"-H", e.host, "--pidfile", filepath.Join(e.dir, "pid"), "--bridge", "none", "--iptables=false", "--ip-forward=false")
	e.cmd.Stdout, e.cmd.Stderr = log, log
	// An engine without a bridge removes docker0 when it starts, which is the bridge of the machine's own engine: it must not
	// see that.
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Cloneflags: syscall.CLONE_NEWNET}
	require.NoError(e.t, e.cmd.Start())
	require.NoError(e.t, log.Close())
	e.over = make(chan struct{})
	go func() { _ = e.cmd.Wait(); close(e.over) }()
	cl, err := client.NewClientWithOpts(client.WithHost(e.host))
	require.NoError(e.t, err)
	defer func() { _ = cl.Close() }()
	require.Eventually(e.t, func() bool { _, err := cl.Ping(context.Background()); return err == nil }, time.Minute, 50*time.Millisecond)
}

func (e *engine) stop() {
	_ = e.cmd.Process.Signal(syscall.SIGTERM)
	<-e.over
}

// An engine that stops asks its containers to end. What obeys exits with zero, and has still not done its work.
func TestEngineThatRestartsInterrupts(t *testing.T) {
	e := newEngine(t)
	h := newHostAt(t, e.host)
	require.NoError(t, importBusybox(h.cl))
	ctx, cancel := context.WithCancel(t.Context())
	connected, over := make(chan struct{}, 16), make(chan struct{})
	go func() {
		defer close(over)
		for ctx.Err() == nil {
			_ = h.rt.Watch(ctx, func(workload string) {
				if workload == "" {
					connected <- struct{}{}
				}
			})
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	defer func() { cancel(); <-over }()
	<-connected

	spec := sleeper()
	spec.Type = v1.TypeJob
	in := request(spec, 1, 10)
	h.must(contract.StepStart, in)
	// The trap must be set before the signal comes.
	require.Eventually(t, func() bool { return h.observe("web").State == contract.RunRunning && h.said("web", "ready") }, 2*time.Minute, 20*time.Millisecond)

	e.stop()
	rec, err := h.store.Get("web")
	require.NoError(t, err)
	_, err = h.rt.Observe(t.Context(), rec)
	require.Equal(t, v1.ReasonRuntimeUnavailable, contract.ReasonOf(err), "what can't be looked at is not absent")
	probe := h.rt.Probe(t.Context())
	require.False(t, probe.Ready)
	require.Contains(t, probe.Message, "Docker is")
	_, failure := h.do(contract.StepStart, in)
	require.NotNil(t, failure)
	require.Equal(t, v1.ReasonRuntimeUnavailable, failure.Reason)
	require.False(t, failure.Permanent)

	e.start()
	<-connected
	require.True(t, h.rt.Probe(t.Context()).Ready)
	o := h.observe("web")
	require.Equal(t, contract.RunExited, o.State)
	require.Zero(t, o.Exit.Code)
	require.Equal(t, v1.ReasonInterrupted, o.Exit.Outcome)
}

func TestProbe(t *testing.T) {
	require.Regexp(t, `^\d+\.\d+`, newHost(t).rt.Probe(t.Context()).Version)

	missing := newHostAt(t, "unix:///run/berth-test-no-such.sock").rt.Probe(t.Context())
	require.False(t, missing.Ready)
	require.Contains(t, missing.Message, "not installed or not running")
	require.Equal(t, "docker", missing.Name)
	require.Equal(t, []v1.Kind{v1.KindContainer}, missing.Kinds)
}
