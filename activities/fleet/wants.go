package fleet

import (
	"context"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Wants says of each workload where it stands. All of them could be read, or it fails: that something could not be read
// must never look as if it were not there.
func (a *Activities) Wants(ctx context.Context, in contract.FleetWantsIn) (contract.FleetWantsOut, error) {
	out := contract.FleetWantsOut{Workloads: make([]contract.Want, len(in.Workloads))}
	err := each(ctx, len(in.Workloads), func(ctx context.Context, i int) (err error) {
		out.Workloads[i], err = a.want(ctx, in.Workloads[i])
		return err
	})
	return out, err
}

// want reads a workload's latest run. Its memo is written in the same step as its state changes, before any action begins.
func (a *Activities) want(ctx context.Context, name string) (contract.Want, error) {
	w := contract.Want{Workload: name}
	resp, err := a.Client.DescribeWorkflow(ctx, contract.WorkloadID(name), "")
	if isGone(err) {
		return w, nil
	}
	if err != nil {
		return w, unread("workload", name, err)
	}
	info := resp.RawResponse.GetWorkflowExecutionInfo()
	status, meta, shown, err := a.status(info)
	if err != nil {
		return w, unread("the status of workload", name, err)
	}
	w.Kind, w.Fence = meta.Kind, status.Fence
	if !status.CreatedAt.IsZero() {
		w.Born = status.CreatedAt.UnixMilli()
	}
	switch {
	case info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING && !shown:
		w.Presence, w.Busy = contract.PresenceOpen, true // its first apply is under way
	case info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		w.Presence, w.Busy, w.Host = contract.PresenceOpen, status.Action != nil, status.Host
		if runs(status) {
			w.Running, w.Since = status.RunningGeneration, status.StartedAt.UnixMilli()
		}
	case status.Phase == v1.PhaseRemoved:
		w.Presence = contract.PresenceRemoved
	default:
		w.Presence = contract.PresenceBroken
	}
	return w, nil
}

// runs reports whether a workload should have something running, and nothing is to be done about it.
func runs(s v1.Status) bool {
	up := s.Phase == v1.PhaseRunning || s.Phase == v1.PhaseDegraded && s.Reason != v1.ReasonNotFound
	return up && s.Settled && s.Tries == 0 && s.StartedAt != nil
}

// status reads what a workload shows of itself; shown is false if it does not show anything yet.
func (a *Activities) status(info *workflowpb.WorkflowExecutionInfo) (status v1.Status, meta contract.WorkloadMeta, shown bool, err error) {
	fields := info.GetMemo().GetFields()
	if p := fields[contract.MemoStatus]; p != nil {
		shown = true
		err = a.Data.FromPayload(p, &status)
	}
	if p := fields[contract.MemoMeta]; p != nil && err == nil {
		err = a.Data.FromPayload(p, &meta)
	}
	return status, meta, shown, err
}
