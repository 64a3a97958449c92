package harness

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Sockets of this machine's runtimes.
const (
	DockerSocket  = "/var/run/docker.sock"
	LibvirtSocket = "/var/run/libvirt/libvirt-sock"
)

// Relay stands between an agent and the socket of a runtime, so that a test can take the runtime away from this agent alone:
// while it is shut nobody listens, while it is frozen nobody answers, and single calls can be held back. It begins shut.
type Relay struct {
	// Path is the relay's own socket.
	Path string

	t  testing.TB
	to string
	// next reads what is held back or passed on as a whole, and beside says whether what follows overtakes what is held back.
	next   func(io.Reader) ([]byte, error)
	beside bool

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]bool
	thaw     chan struct{} // closed unless it is frozen
	held     string        // what is held back contains this
	release  chan struct{}
	holds    int
}

// NewDockerRelay returns a relay to Docker. A call that is held back holds its connection: others go by other ones.
func NewDockerRelay(t testing.TB) *Relay {
	t.Helper()
	return newRelay(t, DockerSocket, some, false)
}

// NewLibvirtRelay returns a relay to libvirt. A call that is held back lets later ones of its connection pass, as libvirt
// serves them beside each other.
func NewLibvirtRelay(t testing.TB) *Relay {
	t.Helper()
	return newRelay(t, LibvirtSocket, message, true)
}

func newRelay(t testing.TB, to string, next func(io.Reader) ([]byte, error), beside bool) *Relay {
	t.Helper()
	r := &Relay{
		Path: filepath.Join(OpenDir(t, "relay"), filepath.Base(to)), t: t, to: to, next: next, beside: beside,
		conns: map[net.Conn]bool{}, thaw: make(chan struct{}), release: make(chan struct{}),
	}
	close(r.thaw)
	close(r.release)
	t.Cleanup(func() {
		r.Release()
		r.Thaw()
		r.Shut()
	})
	return r
}

// Open lets connections through. It does nothing if the relay is open.
func (r *Relay) Open() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener != nil {
		return
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", r.Path)
	require.NoError(r.t, err)
	r.listener = l
	go r.accept(l)
}

// Shut ends the listener and all connections.
func (r *Relay) Shut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listener != nil {
		_ = r.listener.Close()
		r.listener = nil
	}
	for c := range r.conns {
		_ = c.Close()
	}
	clear(r.conns)
}

// Freeze lets nothing pass any more, in either direction, until Thaw. Connections are accepted, and stay.
func (r *Relay) Freeze() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.thaw = make(chan struct{})
}

// Thaw ends a Freeze. What was sent meanwhile arrives.
func (r *Relay) Thaw() {
	r.mu.Lock()
	defer r.mu.Unlock()
	open(r.thaw)
}

// Hold holds back every call that contains a text, until Release.
func (r *Relay) Hold(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held, r.release, r.holds = text, make(chan struct{}), 0
}

// Release lets go what was held back.
func (r *Relay) Release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = ""
	open(r.release)
}

// Holds is how many calls have been held back since Hold.
func (r *Relay) Holds() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.holds
}

func open(gate chan struct{}) {
	select {
	case <-gate:
	default:
		close(gate)
	}
}

func (r *Relay) accept(l net.Listener) {
	for {
		in, err := l.Accept()
		if err != nil {
			return // it was shut
		}
		ctx, cancel := context.WithTimeout(context.Background(), briefly)
		out, err := (&net.Dialer{}).DialContext(ctx, "unix", r.to)
		cancel()
		if err != nil {
			_ = in.Close()
			continue
		}
		r.mu.Lock()
		r.conns[in], r.conns[out] = true, true
		r.mu.Unlock()
		go r.pass(in, out, r.next, true)
		go r.pass(out, in, some, false)
	}
}

// pass copies until either side ends, and then ends what it writes to.
func (r *Relay) pass(from, to net.Conn, next func(io.Reader) ([]byte, error), calls bool) {
	var writing sync.Mutex
	write := func(data []byte) bool {
		writing.Lock()
		defer writing.Unlock()
		_, err := to.Write(data)
		return err == nil
	}
	for {
		data, err := next(from)
		thaw, release := r.gates(data, calls)
		<-thaw
		if release != nil && r.beside {
			go func() {
				<-release
				write(data) // the other side may be gone by now
			}()
			continue
		}
		if release != nil {
			<-release
		}
		if !write(data) || err != nil {
			break
		}
	}
	if half, ok := to.(*net.UnixConn); ok {
		_ = half.CloseWrite()
	}
}

// gates are what data has to wait for; release is nil if it is not held back.
func (r *Relay) gates(data []byte, calls bool) (thaw, release <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if calls && r.held != "" && bytes.Contains(data, []byte(r.held)) {
		r.holds++
		release = r.release
	}
	return r.thaw, release
}

// some takes what comes.
func some(r io.Reader) ([]byte, error) {
	chunk := make([]byte, 64<<10)
	n, err := r.Read(chunk)
	return chunk[:n], err
}

// message takes one message of libvirt's: its size, which counts itself, and the rest.
func message(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	whole := make([]byte, max(4, binary.BigEndian.Uint32(size[:])))
	copy(whole, size[:])
	_, err := io.ReadFull(r, whole[4:])
	return whole, err
}
