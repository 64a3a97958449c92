package backend

import (
	"context"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Action reads an action with its steps from Temporal; of one that Temporal has forgotten, what its workload remembers.
func (b *Backend) Action(ctx context.Context, id string) (v1.ActionView, error) {
	info, err := b.describe(ctx, id)
	if isNotFound(err) {
		return b.pastAction(ctx, id)
	}
	if err != nil {
		return v1.ActionView{}, fault(err)
	}
	action, err := b.action(info.GetWorkflowExecutionInfo())
	if err != nil {
		return v1.ActionView{}, err
	}
	view := v1.ActionView{Action: action, Links: links("self", selfOf(action), "workload", workloadOf(action), "temporal", b.webLink(id, action.RunID))}
	view.Steps, err = b.steps(ctx, info)
	return view, err
}

func selfOf(a v1.Action) string     { return "/v1/actions/" + a.ID }
func workloadOf(a v1.Action) string { return "/v1/workloads/" + a.Workload }

// pastAction is an action that Temporal has forgotten, or never had.
func (b *Backend) pastAction(ctx context.Context, id string) (v1.ActionView, error) {
	workload, _, _, _ := contract.ParseActionID(id)
	past, err := b.past(ctx, workload)
	if err != nil && !isNotFound(err) {
		return v1.ActionView{}, contract.Retryable(v1.ReasonUnavailable, "check that a `berth server` runs",
			"Temporal has no action %q, and no control worker answered for its workload", id).WithCause(err)
	}
	i := slices.IndexFunc(past, func(a v1.Action) bool { return a.ID == id })
	if i < 0 {
		return v1.ActionView{}, notFound("action", id)
	}
	return v1.ActionView{
		Action: past[i], Steps: []v1.ActionStep{}, Links: links("self", selfOf(past[i]), "workload", workloadOf(past[i])),
		Notes: []string{"steps are left out: Temporal does not keep them any more"},
	}, nil
}

// action reads an action's memo; ids, times and whether it is open are as Temporal has them, whatever the memo says.
func (b *Backend) action(info *workflowpb.WorkflowExecutionInfo) (v1.Action, error) {
	var action v1.Action
	if _, err := b.memo(info.GetMemo(), contract.MemoStatus, &action); err != nil {
		return v1.Action{}, err
	}
	action.ID, action.RunID = info.GetExecution().GetWorkflowId(), info.GetExecution().GetRunId()
	action.StartedAt = info.GetStartTime().AsTime()
	if info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		action.Outcome = v1.OutcomeRunning
		return action, nil
	}
	ended := info.GetCloseTime().AsTime()
	action.EndedAt = &ended
	if action.Outcome == "" || action.Outcome == v1.OutcomeRunning {
		action.Outcome = outcomeOf(info.GetStatus())
	}
	return action, nil
}

// outcomeOf is for an action that ended without saying how: it was cancelled or terminated.
func outcomeOf(status enumspb.WorkflowExecutionStatus) v1.Outcome {
	switch status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return v1.OutcomeSucceeded
	case enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return v1.OutcomeSuperseded
	default:
		return v1.OutcomeFailed
	}
}
