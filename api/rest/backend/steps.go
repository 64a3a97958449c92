package backend

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// steps reads an action's steps from its history, and how the open ones stand from what Describe said of them. The inputs
// of steps hold specs, and so secrets: they are not looked at.
func (b *Backend) steps(ctx context.Context, info *workflowservice.DescribeWorkflowExecutionResponse) ([]v1.ActionStep, error) {
	execution := info.GetWorkflowExecutionInfo().GetExecution()
	read := stepReader{b: b, ctx: ctx, byEvent: map[int64]int{}, byActivity: map[string]int{}}
	events := b.Client.GetWorkflowHistory(ctx, execution.GetWorkflowId(), execution.GetRunId(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return nil, fault(err)
		}
		read.event(event)
	}
	for _, pending := range info.GetPendingActivities() {
		read.pending(pending)
	}
	return append([]v1.ActionStep{}, read.steps...), nil
}

// stepReader puts the events of activities together.
type stepReader struct {
	b     *Backend
	ctx   context.Context //nolint:containedctx // it lives for one call
	steps []v1.ActionStep
	// byEvent and byActivity find a step by the event that scheduled it and by its activity's id.
	byEvent    map[int64]int
	byActivity map[string]int
}

func (r *stepReader) event(e *historypb.HistoryEvent) {
	at := e.GetEventTime().AsTime()
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		a := e.GetActivityTaskScheduledEventAttributes()
		r.byEvent[e.GetEventId()], r.byActivity[a.GetActivityId()] = len(r.steps), len(r.steps)
		r.steps = append(r.steps, v1.ActionStep{Step: a.GetActivityType().GetName(), Outcome: v1.OutcomeRunning, BegunAt: at})
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		a := e.GetActivityTaskStartedEventAttributes()
		if s := r.of(a.GetScheduledEventId()); s != nil {
			s.Attempts, s.StartedAt, s.Failure = int(a.GetAttempt()), &at, r.failure(a.GetLastFailure())
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		a := e.GetActivityTaskCompletedEventAttributes()
		if s := r.end(a.GetScheduledEventId(), v1.OutcomeSucceeded, at); s != nil {
			r.result(s, a)
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		a := e.GetActivityTaskFailedEventAttributes()
		if s := r.end(a.GetScheduledEventId(), v1.OutcomeFailed, at); s != nil {
			s.Failure = r.failure(a.GetFailure())
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		a := e.GetActivityTaskTimedOutEventAttributes()
		if s := r.end(a.GetScheduledEventId(), v1.OutcomeFailed, at); s != nil {
			s.Failure = r.failure(a.GetFailure())
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		r.end(e.GetActivityTaskCanceledEventAttributes().GetScheduledEventId(), v1.OutcomeSuperseded, at)
	default:
	}
}

func (r *stepReader) of(scheduled int64) *v1.ActionStep {
	i, ok := r.byEvent[scheduled]
	if !ok {
		return nil
	}
	return &r.steps[i]
}

func (r *stepReader) end(scheduled int64, outcome v1.Outcome, at time.Time) *v1.ActionStep {
	s := r.of(scheduled)
	if s != nil {
		s.Outcome, s.EndedAt = outcome, &at
	}
	return s
}

// result reads what a host's step answered; the control plane's own answer nothing that is shown.
func (r *stepReader) result(s *v1.ActionStep, a *historypb.ActivityTaskCompletedEventAttributes) {
	var out contract.StepOut
	for _, p := range a.GetResult().GetPayloads() {
		if err := r.b.Data.FromPayload(p, &out); err != nil {
			r.b.Logger.WarnContext(r.ctx, "the result of a step cannot be read", "step", s.Step, "error", err)
			return
		}
	}
	s.Bytes, s.Found, s.Kept = out.Bytes, out.Found, out.Kept
}

func (r *stepReader) failure(f *failurepb.Failure) *v1.StepFailure {
	if f == nil {
		return nil
	}
	e := contract.FromActivityError(r.b.failures.FailureToError(f))
	return &v1.StepFailure{Reason: e.Reason, Message: e.Message, Advice: e.Advice}
}

// pending adds what the history does not have yet: an open activity is written into it when it ends.
func (r *stepReader) pending(p *workflowpb.PendingActivityInfo) {
	i, ok := r.byActivity[p.GetActivityId()]
	if !ok || r.steps[i].EndedAt != nil {
		return // it was scheduled, or ended, between the two looks
	}
	s := &r.steps[i]
	s.Attempts, s.Failure = int(p.GetAttempt()), r.failure(p.GetLastFailure())
	if started := p.GetLastStartedTime(); started != nil {
		at := started.AsTime()
		s.StartedAt = &at
	}
	progress := r.b.step(r.ctx, p)
	s.Progress = &progress
	if progress.Unit == "" {
		s.Bytes = progress.Done
	}
}
