package backend

import (
	"context"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Logs asks the workload's host through a short workflow: the host may be behind NAT.
func (b *Backend) Logs(ctx context.Context, name string, tail int) (v1.Logs, error) {
	info, err := b.open(ctx, contract.WorkloadID(name), "workload", name)
	if err != nil {
		return v1.Logs{}, err
	}
	view, err := b.view(info.GetWorkflowExecutionInfo())
	if err != nil {
		return v1.Logs{}, err
	}
	if view.Status.Host == "" {
		return v1.Logs{}, contract.Retryable(v1.ReasonNotFound, "wait until it was placed", "the workload %q is on no host yet", name)
	}
	host, err := b.Host(ctx, view.Status.Host)
	if err != nil {
		return v1.Logs{}, err
	}
	if host.State != v1.HostOnline {
		return v1.Logs{}, contract.Retryable(v1.ReasonHostOffline, "try again when the host is back",
			"the host %q is %s and cannot be asked", host.Name, host.State)
	}
	ctx, cancel := context.WithTimeout(ctx, logsWithin)
	defer cancel()
	run, err := b.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: "logs/" + name + "/" + uuid.NewString(), TaskQueue: contract.ControlPlaneQueue,
		WorkflowExecutionTimeout: logsWithin,
	}, contract.WorkflowLogs, contract.LogsIn{
		Ref: contract.Ref{
			Workload: name, Kind: view.Kind, Generation: view.Status.Generation, Fence: view.Status.Fence,
			Attempt: view.Status.Attempt,
		},
		Host: host.Name, Instance: host.Instance, Tail: tail,
	})
	if err != nil {
		return v1.Logs{}, fault(err)
	}
	var out contract.LogsOut
	if err := run.Get(ctx, &out); err != nil {
		if noAnswer(err) {
			return v1.Logs{}, contract.Retryable(v1.ReasonUnavailable, "check that a `berth server` and the host's agent run",
				"the host %q did not answer within %s", host.Name, logsWithin)
		}
		return v1.Logs{}, contract.FromActivityError(err)
	}
	if out.Lines == nil {
		out.Lines = []string{}
	}
	return v1.Logs{Lines: out.Lines, Truncated: out.Truncated}, nil
}
