package backend

import (
	"context"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Workload reads status from the memo and progress from the open action's heartbeats; only the spec and the attempts
// need a worker, and are left out with a note if none answers. Without secrets, the spec's secret values are replaced.
func (b *Backend) Workload(ctx context.Context, name string, secrets bool) (v1.View, error) {
	info, err := b.open(ctx, contract.WorkloadID(name), "workload", name)
	if err != nil {
		return v1.View{}, err
	}
	view, err := b.view(info.GetWorkflowExecutionInfo())
	if err != nil {
		return v1.View{}, err
	}
	if action := view.Status.Action; action != nil {
		view.Progress = b.progress(ctx, action.ID)
	}
	full, err := b.full(ctx, name)
	if err != nil {
		view.Notes = append(view.Notes, "spec and attempts are left out: no control worker answered")
		return view, nil
	}
	shown := full.Workload
	if !secrets {
		shown = full.Workload.Redacted()
	}
	view.Spec, view.Attempts = shown.Body(), full.Attempts
	if view.Metadata.Labels == nil {
		view.Metadata.Labels = full.Workload.Metadata.Labels
	}
	return view, nil
}

// full asks a worker for everything about a workload.
func (b *Backend) full(ctx context.Context, name string) (contract.WorkloadFull, error) {
	ctx, cancel := context.WithTimeout(ctx, queryWithin)
	defer cancel()
	var full contract.WorkloadFull
	value, err := b.Client.QueryWorkflow(ctx, contract.WorkloadID(name), "", contract.QueryWorkloadFull)
	if err != nil {
		return full, err
	}
	return full, value.Get(&full)
}

// describe returns an execution, open or closed.
func (b *Backend) describe(ctx context.Context, id string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	description, err := b.Client.DescribeWorkflow(ctx, id, "")
	if err != nil {
		return nil, err
	}
	return description.RawResponse, nil
}

// open returns an open execution; a closed one is as good as none.
func (b *Backend) open(ctx context.Context, id, what, name string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	info, err := b.describe(ctx, id)
	if isNotFound(err) {
		return nil, notFound(what, name)
	}
	if err != nil {
		return nil, fault(err)
	}
	if info.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return nil, notFound(what, name)
	}
	return info, nil
}

// view is what Visibility and Describe know about a workload.
func (b *Backend) view(info *workflowpb.WorkflowExecutionInfo) (v1.View, error) {
	name, _ := contract.WorkloadName(info.GetExecution().GetWorkflowId())
	var meta contract.WorkloadMeta
	var status v1.Status
	if _, err := b.memo(info.GetMemo(), contract.MemoMeta, &meta); err != nil {
		return v1.View{}, err
	}
	if _, err := b.memo(info.GetMemo(), contract.MemoStatus, &status); err != nil {
		return v1.View{}, err
	}
	self := "/v1/workloads/" + name
	return v1.View{
		APIVersion: v1.APIVersion, Kind: meta.Kind, Metadata: v1.Metadata{Name: name, Labels: meta.Labels}, Status: status,
		Links: links("self", self, "logs", self+"/logs", "events", self+"/events", "actions", "/v1/actions?workload="+name,
			"temporal", b.webLink(info.GetExecution().GetWorkflowId(), "")),
	}, nil
}
