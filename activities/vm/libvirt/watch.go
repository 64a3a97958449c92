package libvirt

import (
	"context"
	"errors"
	"time"

	"github.com/berth-dev/berth/activities/vm"
)

var errBroken = errors.New("the connection to libvirt broke")

// Watch reports changes of domains, on a connection of its own.
func (d *Driver) Watch(ctx context.Context, connected func(), changed func(domain string, ended vm.Ending)) error {
	const doing = "watch the domains"
	c, err := open(ctx, d.socket, d.uri)
	if err != nil {
		return classify(doing, err)
	}
	defer c.retire() // nothing is pending on it: this closes it, which also ends the subscription

	stop := context.AfterFunc(ctx, c.retire)
	defer stop()
	watchdog := time.AfterFunc(lookLimit, c.retire)

	// The library's context is not ours: unsubscribing takes an answer from libvirt, closing the connection does not.
	events, err := c.rpc.LifecycleEvents(context.WithoutCancel(ctx))
	if err == nil && !watchdog.Stop() {
		err = errBroken
	}
	if err != nil {
		return classify(doing, err)
	}

	connected()
	// The channel is drained until it closes, which it does when the connection is gone: the library's goroutine would
	// else stay blocked on it.
	for e := range events {
		if ctx.Err() == nil {
			changed(e.Dom.Name, eventEnding(e))
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return classify(doing, errBroken)
}
