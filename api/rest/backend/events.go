package backend

import (
	"context"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/berth-dev/berth/api/rest"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// maxRuns bounds how many runs are read for one page of events. Each has some 500 events of Temporal's.
const maxRuns = 20

// Events lists the last events of a workload, or those before a page token, as far as Temporal has its runs.
func (b *Backend) Events(ctx context.Context, name string, page rest.Page) (v1.EventList, error) {
	end, err := b.eventsEnd(ctx, name)
	if err != nil {
		return v1.EventList{}, err
	}
	before := position{run: end.run, event: end.event + 1}
	if page.Token != "" {
		if before, err = parsePosition("pageToken", page.Token); err != nil {
			return v1.EventList{}, err
		}
	}
	return b.eventsBefore(ctx, name, before, page.Size)
}

// eventsEnd is where the history of the last run stands now. A workload that was never accepted has none.
func (b *Backend) eventsEnd(ctx context.Context, name string) (position, error) {
	info, err := b.describe(ctx, contract.WorkloadID(name))
	if isNotFound(err) {
		return position{}, notFound("workload", name)
	}
	if err != nil {
		return position{}, fault(err)
	}
	execution := info.GetWorkflowExecutionInfo()
	if _, accepted := execution.GetMemo().GetFields()[contract.MemoStatus]; !accepted && execution.GetCloseTime() != nil {
		return position{}, notFound("workload", name)
	}
	return position{run: execution.GetExecution().GetRunId(), event: execution.GetHistoryLength()}, nil
}

// eventsBefore collects up to size events that come before a position, going back from run to run. What Temporal has
// forgotten ends it.
func (b *Backend) eventsBefore(ctx context.Context, name string, before position, size int) (v1.EventList, error) {
	list := v1.EventList{Items: []v1.Event{}}
	for range maxRuns {
		var some []v1.Event
		r := b.newEventReader(ctx, before.run)
		err := r.follow(b.history(ctx, name, before.run, false), func(e v1.Event, at position) (bool, error) {
			if at.before(before) {
				some = append(some, e)
			}
			return at.before(before), nil
		})
		if isNotFound(err) {
			list.NextPageToken = ""
			return list, nil
		}
		if err != nil {
			return list, fault(err)
		}
		list.Items = append(some, list.Items...)
		if n := len(list.Items) - size; n > 0 {
			list.Items = list.Items[n:]
			list.NextPageToken = list.Items[0].ID
			return list, nil
		}
		if r.previous == "" {
			list.NextPageToken = ""
			return list, nil
		}
		before = position{run: r.previous, event: maxEvent}
		list.NextPageToken = before.String()
	}
	return list, nil
}

// maxEvent is after any event of a run.
const maxEvent = 999_999_999

// history iterates over a run's events; waiting, it ends only with the run.
func (b *Backend) history(ctx context.Context, name, run string, wait bool) client.HistoryEventIterator {
	return b.Client.GetWorkflowHistory(ctx, contract.WorkloadID(name), run, wait, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
}

// follow reads a history, and hands out what it tells of until take wants no more.
func (r *eventReader) follow(history client.HistoryEventIterator, take func(v1.Event, position) (bool, error)) error {
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			return err
		}
		for i, e := range r.read(event) {
			if more, err := take(e, position{r.run, event.GetEventId(), i + 1}); err != nil || !more {
				return err
			}
		}
	}
	return nil
}
