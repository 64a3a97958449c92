package backend

import (
	"context"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	"github.com/berth-dev/berth/api/rest"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Actions lists actions, newest first. Visibility gives the open ones and then those that closed last; they are sorted
// by their start here, among twice as many as are wanted, since a late end does not mean a late start.
func (b *Backend) Actions(ctx context.Context, q rest.ActionQuery) (v1.ActionList, error) {
	query := visibilityQuery{terms: []string{
		"WorkflowType IN ('" + contract.WorkflowDeploy + "', '" + contract.WorkflowStop + "', '" + contract.WorkflowRemove + "')",
	}}
	query.equal(contract.AttrWorkload.GetName(), q.Workload)
	query.equal(contract.AttrVerb.GetName(), string(q.Verb))
	query.equal(contract.AttrOutcome.GetName(), string(q.Outcome))
	query.equal(contract.AttrHost.GetName(), q.Host)
	infos, _, err := b.page(ctx, query, rest.Page{Size: 2 * q.Limit})
	if err != nil {
		return v1.ActionList{}, err
	}
	list := v1.ActionList{Items: make([]v1.Action, 0, len(infos))}
	for _, info := range infos {
		action, err := b.action(info)
		if err != nil {
			return v1.ActionList{}, err
		}
		list.Items = append(list.Items, action)
	}
	slices.SortStableFunc(list.Items, func(a, b v1.Action) int { return b.StartedAt.Compare(a.StartedAt) })
	list.Items = list.Items[:min(q.Limit, len(list.Items))]
	return list, nil
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
