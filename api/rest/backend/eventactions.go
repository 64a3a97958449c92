package backend

import (
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// child tells of actions: they are the children of a workload's workflow.
func (r *eventReader) child(e *historypb.HistoryEvent) {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
		a := e.GetStartChildWorkflowExecutionInitiatedEventAttributes()
		if _, _, _, ok := contract.ParseActionID(a.GetWorkflowId()); !ok {
			return
		}
		var action v1.Action
		if _, err := r.b.memo(a.GetMemo(), contract.MemoStatus, &action); err == nil {
			action.ID = a.GetWorkflowId()
			r.actions[e.GetEventId()] = action
		}
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
		if a, ok := r.actions[e.GetChildWorkflowExecutionStartedEventAttributes().GetInitiatedEventId()]; ok {
			event := actionEvent(v1.EventActionStarted, a, string(a.Verb)+" begins")
			event.Outcome = v1.OutcomeRunning
			r.tell(event)
		}
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED:
		r.actionEnded(e.GetChildWorkflowExecutionCompletedEventAttributes().GetInitiatedEventId(), v1.OutcomeSucceeded, nil)
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED:
		a := e.GetChildWorkflowExecutionFailedEventAttributes()
		r.actionEnded(a.GetInitiatedEventId(), v1.OutcomeFailed, a.GetFailure())
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED:
		r.actionEnded(e.GetChildWorkflowExecutionCanceledEventAttributes().GetInitiatedEventId(), v1.OutcomeSuperseded, nil)
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED:
		r.actionEnded(e.GetChildWorkflowExecutionTerminatedEventAttributes().GetInitiatedEventId(), v1.OutcomeFailed, nil)
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TIMED_OUT:
		r.actionEnded(e.GetChildWorkflowExecutionTimedOutEventAttributes().GetInitiatedEventId(), v1.OutcomeFailed, nil)
	default:
	}
}

func (r *eventReader) actionEnded(initiated int64, outcome v1.Outcome, failure *failurepb.Failure) {
	a, ok := r.actions[initiated]
	if !ok {
		return
	}
	delete(r.actions, initiated)
	words := map[v1.Outcome]string{
		v1.OutcomeSucceeded: "succeeded", v1.OutcomeFailed: "failed", v1.OutcomeSuperseded: "gave way to a later request",
	}
	event := actionEvent(v1.EventActionEnded, a, string(a.Verb)+" "+words[outcome])
	event.Outcome = outcome
	if failure != nil {
		e := r.failure(failure)
		event.Reason = e.Reason
		if e.Step != "" {
			event.Message += " in " + e.Step
		}
		event.Message += ": " + contract.Clip(e.Message, 600)
	}
	r.tell(event)
}

func actionEvent(t v1.EventType, a v1.Action, message string) v1.Event {
	return v1.Event{Type: t, Action: a.ID, Verb: a.Verb, Host: a.Host, Message: message}
}
