package backend

import (
	"context"
	"slices"
	"strings"

	workflowpb "go.temporal.io/api/workflow/v1"

	"github.com/berth-dev/berth/api/rest"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// withPast adds the actions that a workload's entity remembers and Temporal has forgotten. Notes say if they had to be left
// out.
func (b *Backend) withPast(ctx context.Context, q rest.ActionQuery, items []v1.Action) (all []v1.Action, notes []string) {
	past, err := b.past(ctx, q.Workload)
	if isNotFound(err) {
		return items, nil
	}
	if err == nil {
		past = slices.DeleteFunc(past, func(a v1.Action) bool {
			return !picks(q, a) || slices.ContainsFunc(items, func(has v1.Action) bool { return has.ID == a.ID })
		})
		past, err = b.forgotten(ctx, past)
	}
	if err != nil {
		b.Logger.WarnContext(ctx, "the past actions of a workload cannot be read", "workload", q.Workload, "error", err)
		return items, []string{"actions that Temporal has forgotten are left out: no control worker answered"}
	}
	return append(items, past...), nil
}

// past asks a worker for the ended actions that a workload remembers, newest first.
func (b *Backend) past(ctx context.Context, workload string) ([]v1.Action, error) {
	ctx, cancel := context.WithTimeout(ctx, queryWithin)
	defer cancel()
	value, err := b.Client.QueryWorkflow(ctx, contract.WorkloadID(workload), "", contract.QueryActions)
	if err != nil {
		return nil, err
	}
	var past []v1.Action
	return past, value.Get(&past)
}

// forgotten are those actions that Temporal has no more. A memory's times are the entity's, and may differ from Temporal's
// by some milliseconds: what both have must not be told apart by them.
func (b *Backend) forgotten(ctx context.Context, past []v1.Action) ([]v1.Action, error) {
	if len(past) == 0 {
		return nil, nil
	}
	ids := make([]string, len(past))
	for i, a := range past {
		ids[i] = "'" + a.ID + "'"
	}
	has := map[string]bool{}
	err := b.eachExecution(ctx, "WorkflowId IN ("+strings.Join(ids, ", ")+")", func(info *workflowpb.WorkflowExecutionInfo) error {
		has[info.GetExecution().GetWorkflowId()] = true
		return nil
	})
	return slices.DeleteFunc(past, func(a v1.Action) bool { return has[a.ID] }), err
}

// picks reports whether a query picks an action, as Visibility would.
func picks(q rest.ActionQuery, a v1.Action) bool {
	return (q.Verb == "" || a.Verb == q.Verb) && (q.Host == "" || a.Host == q.Host) && (q.Outcome == "" || a.Outcome == q.Outcome) &&
		(q.Since.IsZero() || !a.StartedAt.Before(q.Since)) && (q.Until.IsZero() || !a.StartedAt.After(q.Until))
}
