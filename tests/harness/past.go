package harness

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/berth-dev/berth/workflows/contract"
)

// Past is what the histories of a workload's entity hold, over all its runs.
type Past struct {
	// Runs is how many there are, Events how many events they have together, and Longest how many the longest has.
	Runs, Events, Longest int
	Observed              []Observed
}

// Observed is an observation that came, with the times at which it did and at which the status changed after it; zero if it
// did not.
type Observed struct {
	contract.Observation
	Came, Shown time.Time
}

// Past reads the histories of a workload's entity. The fleet's histories must not be encrypted.
func (f *Fleet) Past(workload string) Past {
	f.t.Helper()
	c, ctx, id := f.Temporal.Client(), f.t.Context(), contract.WorkloadID(workload)
	described, err := c.DescribeWorkflow(ctx, id, "")
	require.NoError(f.t, err)
	var p Past
	for run := described.RawResponse.GetWorkflowExecutionInfo().GetFirstRunId(); run != ""; {
		events, err := eventsOf(ctx, c, id, run)
		require.NoError(f.t, err)
		require.NotEmpty(f.t, events)
		p.Runs, p.Events, p.Longest = p.Runs+1, p.Events+len(events), max(p.Longest, len(events))
		for _, e := range events {
			p.take(f, e)
		}
		run = events[len(events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	}
	return p
}

func (p *Past) take(f *Fleet, e *historypb.HistoryEvent) {
	if signal := e.GetWorkflowExecutionSignaledEventAttributes(); signal.GetSignalName() == contract.SignalObserve {
		o := Observed{Came: e.GetEventTime().AsTime()}
		require.NoError(f.t, converter.GetDefaultDataConverter().FromPayloads(signal.GetInput(), &o.Observation))
		p.Observed = append(p.Observed, o)
	}
	if e.GetEventType() != enumspb.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED {
		return
	}
	for i := len(p.Observed) - 1; i >= 0 && p.Observed[i].Shown.IsZero(); i-- {
		p.Observed[i].Shown = e.GetEventTime().AsTime()
	}
}

func eventsOf(ctx context.Context, c client.Client, id, run string) ([]*historypb.HistoryEvent, error) {
	var all []*historypb.HistoryEvent
	for pages := c.GetWorkflowHistory(ctx, id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); pages.HasNext(); {
		e, err := pages.Next()
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}
