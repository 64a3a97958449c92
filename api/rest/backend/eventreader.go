package backend

import (
	"context"
	"fmt"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// eventReader turns the history of one run of a Workload into events for people. It is fed from the run's first event on,
// so that it knows what each change changed.
type eventReader struct {
	b   *Backend
	ctx context.Context //nolint:containedctx // it lives for one call
	run string

	// status is the last that was published, and told whether one was. Seq is the last accepted request that was told.
	status v1.Status
	told   bool
	seq    int64
	// asked is the last verb that came by signal, "" if it was none: a signal has no answer.
	asked v1.Verb
	seen  contract.Observation
	// requests and actions find what an event refers to by its number.
	requests map[int64]string
	actions  map[int64]v1.Action

	// previous is the run before, next the one after this has continued as new. Closed is set at the run's end.
	previous, next string
	closed         bool
	last           int64

	out []v1.Event
}

func (b *Backend) newEventReader(ctx context.Context, run string) *eventReader {
	return &eventReader{b: b, ctx: ctx, run: run, asked: v1.VerbDeploy, requests: map[int64]string{}, actions: map[int64]v1.Action{}}
}

// read returns what a history's event tells of.
func (r *eventReader) read(e *historypb.HistoryEvent) []v1.Event {
	r.out, r.last = nil, e.GetEventId()
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
		r.started(e.GetWorkflowExecutionStartedEventAttributes())
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
		a := e.GetWorkflowExecutionUpdateAcceptedEventAttributes()
		r.requests[e.GetEventId()] = a.GetAcceptedRequest().GetInput().GetName()
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED:
		r.answered(e.GetWorkflowExecutionUpdateCompletedEventAttributes())
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
		r.signaled(e.GetWorkflowExecutionSignaledEventAttributes())
	case enumspb.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED:
		r.published(e.GetWorkflowPropertiesModifiedEventAttributes().GetUpsertedMemo())
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		r.next, r.closed = e.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId(), true
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
		r.end("nothing of it is left but what stays; nothing follows")
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
		r.end("its workflow was terminated: nobody looks after it any more")
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
		r.end("its workflow ended in an unexpected way: nobody looks after it any more")
	default:
		r.child(e)
	}
	at := e.GetEventTime().AsTime()
	for i := range r.out {
		r.out[i].ID, r.out[i].At = position{r.run, e.GetEventId(), i + 1}.String(), at
	}
	return r.out
}

func (r *eventReader) tell(e v1.Event) { r.out = append(r.out, e) }

func (r *eventReader) end(message string) {
	r.closed = true
	r.tell(v1.Event{Type: v1.EventEnded, Message: message})
}

// started takes over what the run before left.
func (r *eventReader) started(a *historypb.WorkflowExecutionStartedEventAttributes) {
	r.previous = a.GetContinuedExecutionRunId()
	if r.previous == "" {
		return
	}
	r.told, _ = r.b.memo(a.GetMemo(), contract.MemoStatus, &r.status)
	r.seq, r.asked = r.status.Seq, ""
	var input struct {
		State struct {
			Seen contract.Observation `json:"seen"`
		} `json:"state"`
	}
	if r.decode(a.GetInput(), &input) {
		r.seen = input.State.Seen
	}
}

// answered tells of a request that changed what is wanted. A repeat, and what changes nothing, takes no new number.
func (r *eventReader) answered(a *historypb.WorkflowExecutionUpdateCompletedEventAttributes) {
	name := r.requests[a.GetAcceptedEventId()]
	var accepted contract.Accepted
	if a.GetOutcome().GetSuccess() == nil || !r.decode(a.GetOutcome().GetSuccess(), &accepted) || accepted.Seq <= r.seq {
		return
	}
	verb := v1.Verb(name)
	if name == contract.UpdateApply {
		verb = v1.VerbDeploy
	}
	r.accepted(verb, accepted.Seq, accepted.Generation, a.GetMeta().GetUpdateId())
}

func (r *eventReader) accepted(verb v1.Verb, seq, generation int64, requestID string) {
	r.seq, r.asked = seq, ""
	message := string(verb) + " was accepted"
	if verb == v1.VerbDeploy {
		message = fmt.Sprintf("generation %d was accepted", generation)
	}
	r.tell(v1.Event{Type: v1.EventAccepted, Verb: verb, Generation: generation, RequestID: requestID, Message: message})
}

// signaled notes verbs, and tells what a host saw.
func (r *eventReader) signaled(a *historypb.WorkflowExecutionSignaledEventAttributes) {
	switch name := a.GetSignalName(); name {
	case contract.SignalObserve:
		var o contract.Observation
		if r.decode(a.GetInput(), &o) {
			r.observed(o)
		}
	case string(v1.VerbStart), string(v1.VerbRestart), string(v1.VerbRetry), string(v1.VerbStop), string(v1.VerbRemove):
		r.asked = v1.Verb(name)
	}
}

// observed follows the entity: what comes late or twice says nothing new.
func (r *eventReader) observed(o contract.Observation) {
	if o.Unrecorded != nil {
		return // the workload says what it makes of it
	}
	if o.Host != r.status.Host || o.Fence > r.status.Fence || !o.After(r.seen) {
		return
	}
	before := r.seen
	r.seen = o
	event := v1.Event{Type: v1.EventObserved, Host: o.Host}
	switch o.State {
	case contract.RunExited:
		if o.Exit == nil || before.Exit != nil && before.Fence == o.Fence && before.Exit.At.Equal(o.Exit.At) {
			return
		}
		event.Reason, event.ExitCode, event.Message = o.Exit.Outcome, &o.Exit.Code, exitWords(o)
	case contract.RunUnhealthy, contract.RunAbsent:
		if before.State == o.State && before.Fence == o.Fence {
			return
		}
		event.Reason, event.Message = v1.ReasonUnhealthy, "it is unhealthy"
		if o.State == contract.RunAbsent {
			event.Reason, event.Message = v1.ReasonNotFound, "it is gone from its host"
		}
	case contract.RunRunning:
		if before.State == contract.RunRunning || before.Fence != o.Fence || before.State == "" {
			return
		}
		event.Message = "it runs again"
	case contract.RunStarting, contract.RunUnobservable:
		return
	default:
		return
	}
	if o.Message != "" && (o.Exit == nil || o.Message != o.Exit.Message) {
		event.Message += ": " + contract.Clip(o.Message, 300)
	}
	r.tell(event)
}

func exitWords(o contract.Observation) string {
	text := fmt.Sprintf("it exited with code %d", o.Exit.Code)
	switch o.Exit.Outcome {
	case v1.ReasonOutOfMemory:
		text = fmt.Sprintf("it was killed for want of memory (exit code %d)", o.Exit.Code)
	case v1.ReasonInterrupted:
		text = "it was interrupted"
	case v1.ReasonUnknown:
		text = "it ended in an unknown way"
	default:
	}
	if o.Attempt > 0 {
		text = fmt.Sprintf("attempt %d: %s", o.Attempt, text)
	}
	if o.Exit.Message != "" {
		text += ": " + contract.Clip(o.Exit.Message, 300)
	}
	return text
}

// published compares a status with the one before.
func (r *eventReader) published(m *commonpb.Memo) {
	var now v1.Status
	if ok, err := r.b.memo(m, contract.MemoStatus, &now); err != nil || !ok {
		return
	}
	before := r.status
	known := r.told
	r.status, r.told = now, true
	if now.Seq > r.seq {
		// Nobody was answered: it came by signal, or it was the start's own while no worker was there.
		verb := r.asked
		if verb == "" {
			verb = v1.VerbDeploy
		}
		r.accepted(verb, now.Seq, now.Generation, "")
	}
	if now.Host != before.Host && now.Host != "" {
		r.tell(v1.Event{Type: v1.EventPlaced, Host: now.Host, Message: "it was placed on " + now.Host})
	}
	if !known || now.Phase != before.Phase || now.Reason != before.Reason {
		r.tell(v1.Event{Type: v1.EventPhase, Phase: now.Phase, Reason: now.Reason, Host: now.Host, Message: phaseWords(before, now)})
	}
	for _, c := range now.Conditions {
		if !slices.Contains(before.Conditions, c) {
			r.tell(v1.Event{Type: v1.EventCondition, Reason: c.Reason, Message: c.Message})
		}
	}
}

func phaseWords(before, now v1.Status) string {
	text := string(now.Phase)
	if before.Phase != "" && before.Phase != now.Phase {
		text = string(before.Phase) + " → " + text
	}
	if now.Reason != v1.ReasonNone {
		text += ": " + string(now.Reason)
	}
	if now.Message != "" {
		text += ": " + now.Message
	}
	if now.NextTry != nil {
		text += "; next try at " + now.NextTry.UTC().Format(time.RFC3339)
	}
	return text
}

// decode reads the first payload; what cannot be read is no event, and is logged.
func (r *eventReader) decode(p *commonpb.Payloads, out any) bool {
	if len(p.GetPayloads()) == 0 {
		return false
	}
	if err := r.b.Data.FromPayload(p.GetPayloads()[0], out); err != nil {
		r.b.Logger.DebugContext(r.ctx, "an event of a workload cannot be read", "run", r.run, "event", r.last, "error", err)
		return false
	}
	return true
}

func (r *eventReader) failure(f *failurepb.Failure) *contract.Error {
	return contract.FromActivityError(r.b.failures.FailureToError(f))
}
