package docker

import (
	"context"
	"fmt"
	"strconv"
	"syscall"
	"time"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"

	"github.com/berth-dev/berth/activities/container"
)

// The events after which a container's state may be another one, or known better. Health checks send an exec_* each time:
// those are not asked for.
var telling = []events.Action{
	events.ActionStart, events.ActionKill, events.ActionDie, events.ActionDestroy, events.ActionPause, events.ActionUnPause,
	events.ActionHealthStatus, events.ActionOOM, events.ActionConnect, events.ActionDisconnect,
}

// Events follows the engine's events.
func (d *Driver) Events(ctx context.Context, labels map[string]string, connected func(), happened func(container.Event)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	docker, err := d.engine(ctx)
	if err != nil {
		return err
	}
	// A filter by labels would leave networks' events out: they have the container's id only.
	f := filters.NewArgs(filters.Arg("type", string(events.ContainerEventType)), filters.Arg("type", string(events.NetworkEventType)))
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
			if e, ok := eventOf(m, labels); ok {
				happened(e)
			}
		case err := <-failed:
			return d.classify(ctx, "follow events", err)
		}
	}
}

// eventOf reports false for the events of containers without the labels, and of networks alone.
func eventOf(m events.Message, labels map[string]string) (container.Event, bool) {
	if m.Type == events.NetworkEventType {
		id := m.Actor.Attributes["container"]
		return container.Event{ID: id, At: time.Unix(0, m.TimeNano), Network: true}, id != ""
	}
	for key, value := range labels {
		if m.Actor.Attributes[key] != value {
			return container.Event{}, false
		}
	}
	return container.Event{
		ID: m.Actor.ID, Labels: m.Actor.Attributes, At: time.Unix(0, m.TimeNano),
		Killed:      m.Action == events.ActionKill && isFatal(m.Actor.Attributes["signal"]),
		OutOfMemory: m.Action == events.ActionOOM,
	}, true
}

// isFatal reports whether a signal is one that ends a container, rather than, say, one that makes it read its
// configuration again. Docker writes it as a number.
func isFatal(signal string) bool {
	n, err := strconv.Atoi(signal)
	return err == nil && (n == int(syscall.SIGTERM) || n == int(syscall.SIGKILL) || n == int(syscall.SIGINT) || n == int(syscall.SIGQUIT))
}
