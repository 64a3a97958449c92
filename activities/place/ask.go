package place

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func (a *Activities) reserve(ctx context.Context, host string, req contract.ReserveRequest) (contract.ReserveReply, error) {
	var reply contract.ReserveReply
	err := a.updateHost(ctx, host, contract.UpdateReserve, req, &reply)
	if isGone(err) {
		return contract.ReserveReply{Reason: v1.ReasonNoMatchingHost, Short: "the host is not known"}, nil
	}
	return reply, err
}

// updateHost calls an update of Host and waits for its answer. The update's own id is left to chance: the ledger knows
// repeats by workload and fence.
func (a *Activities) updateHost(ctx context.Context, host, name string, in, out any) error {
	if err := a.update(ctx, contract.HostID(host), name, in, out); err != nil {
		return fmt.Errorf("ask host %s to %s: %w", host, name, err)
	}
	return nil
}

func (a *Activities) update(ctx context.Context, id, name string, in, out any) error {
	handle, err := a.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: name, Args: []any{in}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, out)
}

// ahead asks the queue who goes before a newcomer. A queue that does not run has nobody in it.
func (a *Activities) ahead(ctx context.Context, in contract.AskAhead) ([]contract.Waiter, error) {
	var out contract.Ahead
	err := a.update(ctx, contract.QueueID, contract.UpdateAhead, in, &out)
	if isGone(err) {
		return nil, nil
	}
	return out.Waiters, err
}

// enqueue registers a workload with the queue, and starts the queue if it does not run.
func (a *Activities) enqueue(ctx context.Context, w contract.Waiter) error {
	_, err := a.Client.SignalWithStartWorkflow(ctx, contract.QueueID, contract.SignalEnqueue, w,
		client.StartWorkflowOptions{ID: contract.QueueID, TaskQueue: contract.ControlPlaneQueue}, contract.WorkflowQueue,
		contract.QueueInput{ContinueAsNewAt: contract.DefaultTimings().ContinueAsNewAt})
	if err != nil {
		return fmt.Errorf("register with the queue: %w", err)
	}
	return nil
}

func isGone(err error) bool {
	var gone *serviceerror.NotFound
	return errors.As(err, &gone)
}
