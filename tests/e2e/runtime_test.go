package e2e

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// TestRuntimesComeAndGo gives an agent sockets of Docker and libvirt behind which nobody listens at first.
func TestRuntimesComeAndGo(t *testing.T) {
	dir := harness.OpenDir(t, "sockets")
	docker := &socket{path: filepath.Join(dir, "docker.sock"), to: "/var/run/docker.sock"}
	libvirt := &socket{path: filepath.Join(dir, "libvirt.sock"), to: "/var/run/libvirt/libvirt-sock"}
	f := fleet(t, "--docker-host", "unix://"+docker.path, "--libvirt-uri", "qemu:///system?socket="+libvirt.path)

	require.Falsef(t, runtimes(t, f)["docker"].Ready, "%v", runtimes(t, f))
	require.False(t, runtimes(t, f)["libvirt"].Ready)
	for name, r := range runtimes(t, f) {
		require.NotEmptyf(t, r.Message, "%s says why", name)
	}
	f.Apply(container(t, f, "box"))
	f.Apply(vm(f, "guest", harness.ServeFile(t, harness.GuestImage(t)).URL, "", "stopGracePeriod: 5s"))
	for _, name := range []string{"box", "guest"} {
		v := f.AwaitWorkload(name, soon, "it waits for its runtime", func(v v1.View) bool { return v.Status.Reason != v1.ReasonNone })
		require.Equal(t, v1.ReasonRuntimeUnavailable, v.Status.Reason)
		require.Equal(t, v1.PhasePending, v.Status.Phase)
	}

	libvirt.open(t)
	f.AwaitPhase("guest", long, v1.PhaseRunning)
	require.True(t, runtimes(t, f)["libvirt"].Ready)
	require.False(t, runtimes(t, f)["docker"].Ready)
	remove(t, f, "guest")

	docker.open(t)
	f.AwaitPhase("box", soon, v1.PhaseRunning)
	first := inspect(t, f, "box")

	// Out of sight is not gone.
	docker.close()
	require.Eventually(t, func() bool { return !runtimes(t, f)["docker"].Ready }, soon, poll)
	require.Equal(t, v1.PhaseRunning, f.Workload("box").Status.Phase)
	docker.open(t)
	require.Eventually(t, func() bool { return runtimes(t, f)["docker"].Ready }, soon, poll)
	v := f.AwaitPhase("box", soon, v1.PhaseRunning)
	require.Zero(t, v.Status.Restarts)
	require.Equal(t, first.State.StartedAt, inspect(t, f, "box").State.StartedAt)
	remove(t, f, "box")
}

// runtimes are what the host says of its runtimes, by name.
func runtimes(t *testing.T, f *harness.Fleet) map[string]v1.Runtime {
	t.Helper()
	h, err := f.Client().Host(t.Context(), hostName)
	require.NoError(t, err)
	all := map[string]v1.Runtime{}
	for _, r := range h.Runtimes {
		all[r.Name] = r
	}
	require.Len(t, all, 2)
	return all
}

// socket passes connections on to another one while it is open.
type socket struct {
	path, to string

	listener net.Listener
	mu       sync.Mutex
	conns    []net.Conn
}

func (s *socket) open(t *testing.T) {
	t.Helper()
	var err error
	s.listener, err = (&net.ListenConfig{}).Listen(t.Context(), "unix", s.path)
	require.NoError(t, err)
	t.Cleanup(s.close)
	go s.accept(s.listener)
}

func (s *socket) accept(l net.Listener) {
	for {
		in, err := l.Accept()
		if err != nil {
			return // it was closed
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		out, err := (&net.Dialer{}).DialContext(ctx, "unix", s.to)
		cancel()
		if err != nil {
			in.Close()
			continue
		}
		s.mu.Lock()
		s.conns = append(s.conns, in, out)
		s.mu.Unlock()
		go pass(in, out)
		go pass(out, in)
	}
}

// pass copies until either side ends, and then ends what it writes to.
func pass(from, to net.Conn) {
	_, _ = io.Copy(to, from) // however it ends, it has ended
	if half, ok := to.(*net.UnixConn); ok {
		_ = half.CloseWrite()
	}
}

// close ends the listener and all connections. Called again, it does nothing.
func (s *socket) close() {
	if s.listener != nil {
		_ = s.listener.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		_ = c.Close()
	}
	s.conns = nil
}
