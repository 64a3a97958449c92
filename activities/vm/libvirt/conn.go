package libvirt

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// openLimit bounds how long libvirt may take to accept a connection.
const openLimit = 5 * time.Second

var errNotAccepted = errors.New("the connection was not accepted in time")

// conn is one connection. It is never reopened: after a break, whoever needs one opens another.
type conn struct {
	rpc *golibvirt.Libvirt
	raw net.Conn
	// broken is closed when the other side is gone.
	broken chan struct{}

	mu      sync.Mutex
	pending int
	retired bool
}

// open connects, and logs on to the URI.
func open(ctx context.Context, socket, uri string) (*conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, openLimit, errNotAccepted)
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", socket, err)
	}
	c := &conn{broken: make(chan struct{})}
	c.raw = &watchedConn{Conn: raw, broken: sync.OnceFunc(func() { close(c.broken) })}
	c.rpc = golibvirt.NewWithDialer(given{c.raw})
	// The handshake takes no context: closing the socket below it is what ends it.
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	err = c.rpc.ConnectToURI(golibvirt.ConnectURI(uri))
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("open %s: %w", uri, err)
	}
	return c, nil
}

// usable reports whether a new call may be made on it.
func (c *conn) usable() bool {
	select {
	case <-c.broken:
		return false
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.retired
}

func (c *conn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending++
}

func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending--
	c.closeIfIdle()
}

// retire keeps new calls off a connection. It is closed once no call is under way any more, because libvirt goes on with
// a call whose connection is gone, and nobody could tell when it is over.
func (c *conn) retire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retired = true
	c.closeIfIdle()
}

func (c *conn) closeIfIdle() {
	if c.retired && c.pending == 0 {
		_ = c.raw.Close() // the other side's answer is of no interest
	}
}

// given is a dialer for a connection that exists.
type given struct{ raw net.Conn }

// Dial returns the connection.
func (g given) Dial() (net.Conn, error) { return g.raw, nil }

// watchedConn says when reading from it has failed, which is when the library's reader ends.
type watchedConn struct {
	net.Conn
	broken func()
}

func (w *watchedConn) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if err != nil {
		w.broken()
	}
	return n, err
}
