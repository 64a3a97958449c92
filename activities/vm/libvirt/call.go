package libvirt

import (
	"context"
	"sync"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// How long libvirt may take for a call before it is given up.
const (
	lookLimit   = 15 * time.Second
	changeLimit = 45 * time.Second
	// powerLimit is for starting and destroying: QEMU allocates memory at start, and gets up to 30 s to die.
	powerLimit = 90 * time.Second
)

// operation describes one call, or several that belong together.
type operation struct {
	// doing completes "cannot …".
	doing string
	// object is what it is about, for example "domain web": no call is made about something while an earlier one that was
	// given up has not come back.
	object string
	limit  time.Duration
	// changes is true if it changes something: such a call is waited for even if ctx ends.
	changes bool
	// slow is true if a guest answers it.
	slow bool
}

// call makes a call that takes no context. When its limit is over it is given up with an error, and goes on unseen.
func call[T any](ctx context.Context, d *Driver, op operation, f func(*golibvirt.Libvirt) (T, error)) (T, error) {
	var none T
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	if d.hung.has(op.object) {
		return none, contract.Retryable(v1.ReasonRuntimeUnavailable, "it is tried again by itself; if it stays, restart libvirtd",
			"cannot %s: an earlier call has not come back from libvirt", op.doing)
	}
	lane := &d.quick
	if op.slow {
		lane = &d.slow
	}
	c, err := lane.get(ctx, d.socket, d.uri)
	if err != nil {
		return none, classify(op.doing, err)
	}

	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	givenUp := make(chan struct{})
	watchdog := time.AfterFunc(op.limit, func() {
		d.log.Warn("a libvirt call was given up", "object", op.object, "limit", op.limit)
		d.hung.add(op.object)
		c.retire()
		close(givenUp)
	})
	go func() {
		value, err := f(c.rpc)
		c.end()
		if !watchdog.Stop() {
			<-givenUp
			d.hung.drop(op.object)
		}
		done <- result{value, err}
	}()

	var cancelled <-chan struct{}
	if !op.changes {
		cancelled = ctx.Done()
	}
	select {
	case r := <-done:
		return r.value, classify(op.doing, r.err)
	case <-cancelled:
		return none, context.Cause(ctx)
	case <-givenUp:
		return none, contract.Retryable(v1.ReasonRuntimeUnavailable, "it is tried again by itself; if it stays, restart libvirtd",
			"cannot %s: libvirt has not answered for %s", op.doing, op.limit)
	}
}

// hungCalls counts, by object, the calls that were given up and have not come back.
type hungCalls struct {
	mu sync.Mutex
	n  map[string]int
}

func (h *hungCalls) has(object string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.n[object] > 0
}

func (h *hungCalls) add(object string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n[object]++
}

func (h *hungCalls) drop(object string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.n[object]--; h.n[object] == 0 {
		delete(h.n, object)
	}
}
