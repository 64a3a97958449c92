package backend

import (
	"context"

	"github.com/berth-dev/berth/api/rest"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Watch streams a workload's events: those after the event with this id, or the last few and then whatever happens. It
// waits by long polls of the workload's history, from run to run, and ends with the workload. If nothing can follow the
// event any more it is nil.
func (b *Backend) Watch(ctx context.Context, name, after string, tail int) (rest.Watch, error) {
	if after != "" {
		return b.watchAfter(ctx, name, after)
	}
	start, err := b.eventsEnd(ctx, name)
	if err != nil {
		return nil, err
	}
	var last v1.EventList
	if tail > 0 {
		if last, err = b.eventsBefore(ctx, name, position{run: start.run, event: start.event + 1}, tail); err != nil {
			return nil, err
		}
	}
	start.part = maxPart
	return b.watch(name, start, last.Items), nil
}

func (b *Backend) watchAfter(ctx context.Context, name, after string) (rest.Watch, error) {
	start, err := parsePosition("Last-Event-ID", after)
	if err != nil {
		return nil, err
	}
	follows := false
	r := b.newEventReader(ctx, start.run)
	err = r.follow(b.history(ctx, name, start.run, false), func(_ v1.Event, at position) (bool, error) {
		follows = start.before(at)
		return !follows, nil
	})
	switch {
	case isNotFound(err):
		return nil, contract.Permanent(v1.ReasonNotFound, "begin again without Last-Event-ID",
			"there is no such event of a workload %q, or Temporal does not keep it any more", name)
	case err != nil:
		return nil, fault(err)
	case !follows && r.closed && r.next == "":
		return nil, nil //nolint:nilnil // as the interface says: there is nothing to watch
	}
	return b.watch(name, start, nil), nil
}

// maxPart is after all that one event of Temporal's tells of.
const maxPart = 999

func (b *Backend) watch(name string, from position, first []v1.Event) rest.Watch {
	return func(ctx context.Context, emit func(v1.Event) error) error {
		for _, e := range first {
			if err := emit(e); err != nil {
				return err
			}
		}
		for {
			// Each run is read from its beginning, to know what a change changed; it is short.
			r := b.newEventReader(ctx, from.run)
			err := r.follow(b.history(ctx, name, from.run, true), func(e v1.Event, at position) (bool, error) {
				if !from.before(at) {
					return true, nil
				}
				return true, emit(e)
			})
			if err != nil || r.next == "" {
				return err
			}
			from = position{run: r.next}
		}
	}
}
