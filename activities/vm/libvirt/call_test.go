package libvirt

import (
	"context"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"
	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/vm"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const syntheticURI = "test:///default"

func newDriver(t *testing.T, socket string) *Driver {
	t.Helper()
	d := New(Config{Socket: socket, URI: syntheticURI})
	t.Cleanup(d.Close)
	return d
}

func unavailable(t *testing.T, err error) {
	t.Helper()
	require.Equal(t, v1.ReasonRuntimeUnavailable, contract.ReasonOf(err), "%v", err)
}

func TestCallThatHangsHoldsOnlyItsObject(t *testing.T) {
	d, ctx := newDriver(t, ""), context.Background()
	comeBack, cameBack := make(chan struct{}), make(chan struct{})
	about := func(object string, limit time.Duration, f func() error) error {
		op := operation{doing: "do it", object: object, limit: limit, changes: true}
		return done(call(ctx, d, op, func(*golibvirt.Libvirt) (struct{}, error) { return struct{}{}, f() }))
	}
	hang := func() error { <-comeBack; defer close(cameBack); return nil }
	quick := func() error { return nil }

	unavailable(t, about("domain a", 50*time.Millisecond, hang))
	unavailable(t, about("domain a", 50*time.Millisecond, quick))
	require.NoError(t, about("domain b", time.Minute, quick))
	_, err := d.Domain(ctx, "test") // libvirt's own, over a connection that is not the hanging call's
	require.NoError(t, err)

	close(comeBack)
	<-cameBack
	require.Eventually(t, func() bool { return about("domain a", time.Second, quick) == nil }, 2*time.Minute, time.Millisecond)
}

func TestChangeIsWaitedForThoughCancelled(t *testing.T) {
	d := newDriver(t, "")
	ctx, cancel := context.WithCancel(context.Background())
	op := operation{doing: "do it", object: "domain a", limit: 10 * time.Minute}
	begun, comeBack := make(chan struct{}), make(chan struct{})
	work := func(*golibvirt.Libvirt) (int, error) { begun <- struct{}{}; <-comeBack; return 7, nil }

	result := make(chan error, 1)
	go func() { _, err := call(ctx, d, op, work); result <- err }()
	<-begun
	cancel()
	require.ErrorIs(t, <-result, context.Canceled, "a look is not waited for")
	comeBack <- struct{}{}

	op.changes = true
	_, err := call(ctx, d, op, work)
	require.ErrorIs(t, err, context.Canceled, "nothing is begun after a cancel")
	ctx, cancel = context.WithCancel(context.Background())
	go func() { <-begun; cancel(); close(comeBack) }()
	n, err := call(ctx, d, op, work)
	require.NoError(t, err)
	require.Equal(t, 7, n)
}

// relay stands before libvirtd and can break all connections, as a restart of libvirtd does.
type relay struct {
	listener net.Listener
	mu       sync.Mutex
	conns    []net.Conn
}

func newRelay(t *testing.T) *relay {
	t.Helper()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "libvirt-sock"))
	require.NoError(t, err)
	r := &relay{listener: listener}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", DefaultSocket)
			if err != nil {
				_ = near.Close()
				continue
			}
			r.mu.Lock()
			r.conns = append(r.conns, near, far)
			r.mu.Unlock()
			go copyUntilClosed(near, far)
			go copyUntilClosed(far, near)
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); r.breakAll() })
	return r
}

func copyUntilClosed(to, from net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, werr := to.Write(buf[:n]); werr != nil {
				err = werr
			}
		}
		if err != nil {
			_ = to.Close()
			_ = from.Close()
			return
		}
	}
}

func (r *relay) breakAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.Close()
	}
	r.conns = nil
}

func TestReconnectsAfterABreak(t *testing.T) {
	ctx, r := context.Background(), newRelay(t)
	d := newDriver(t, r.listener.Addr().String())
	_, err := d.Domain(ctx, "test")
	require.NoError(t, err)

	connected, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- d.Watch(ctx, func() { close(connected) }, func(string, vm.Ending) {}) }()
	<-connected
	r.breakAll()
	unavailable(t, <-ended)
	require.Eventually(t, func() bool { _, err = d.Domain(ctx, "test"); return err == nil }, 2*time.Minute, time.Millisecond, "%v", err)
}

func TestLibvirtThatAcceptsNothing(t *testing.T) {
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "libvirt-sock"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	d := newDriver(t, listener.Addr().String())
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err = d.Capabilities(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	begin := time.Now()
	_, err = d.Capabilities(context.Background())
	unavailable(t, err)
	_, err = d.Domain(context.Background(), "test")
	unavailable(t, err)
	require.Less(t, time.Since(begin), 2*openLimit, "who comes second does not wait again")
}
