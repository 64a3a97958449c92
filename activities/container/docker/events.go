package docker

import (
	"context"
	"fmt"
	"strconv"
	"syscall"
	"time"

	"github.com/docker/docker/api/types/events"

	"github.com/berth-dev/berth/activities/container"
)

// The events after which a container's state may be another one, or known better. Health checks send an exec_* each time:
// those are not asked for.
var telling = []events.Action{
	events.ActionStart, events.ActionKill, events.ActionDie, events.ActionDestroy, events.ActionPause, events.ActionUnPause,
	events.ActionHealthStatus, events.ActionOOM,
}

// Events follows the engine's events.
func (d *Driver) Events(ctx context.Context, labels map[string]string, connected func(), happened func(container.Event)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	docker, err := d.engine(ctx)
	if err != nil {
		return err
	}
	f := labelled(labels)
	f.Add("type", string(events.ContainerEventType))
	for _, action := range telling {
		f.Add("event", string(action))
	}
	// Docker answers a moment before it subscribes: it is asked for what happened since now.
	now := time.Now()
	since := fmt.Sprintf("%d.%09d", now.Unix(), now.Nanosecond())
	messages, failed := docker.Events(ctx, events.ListOptions{Since: since, Filters: f})
	select {
	case err := <-failed: // it could not connect
		return d.classify(ctx, "follow events", err)
	default:
	}
	connected()
	for {
		select {
		case m := <-messages:
			happened(eventOf(m))
		case err := <-failed:
			return d.classify(ctx, "follow events", err)
		}
	}
}

func eventOf(m events.Message) container.Event {
	return container.Event{
		ID: m.Actor.ID, Labels: m.Actor.Attributes, At: time.Unix(0, m.TimeNano),
		Killed:      m.Action == events.ActionKill && isFatal(m.Actor.Attributes["signal"]),
		OutOfMemory: m.Action == events.ActionOOM,
	}
}

// isFatal reports whether a signal is one that ends a container, rather than, say, one that makes it read its
// configuration again. Docker writes it as a number.
func isFatal(signal string) bool {
	n, err := strconv.Atoi(signal)
	return err == nil && (n == int(syscall.SIGTERM) || n == int(syscall.SIGKILL) || n == int(syscall.SIGINT) || n == int(syscall.SIGQUIT))
}
