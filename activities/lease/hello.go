package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/berth-dev/berth/workflows/contract"
)

// ErrRefused says that the fleet does not admit this agent. Trying again does not help.
var ErrRefused = errors.New("the fleet refused this agent")

const (
	helloTimeout  = 10 * time.Second
	helloRetryMin = 200 * time.Millisecond
	helloRetryMax = 5 * time.Second
)

// Hello asks the fleet for admission until it answers. It returns the granted lease, and a channel that is closed when that
// lease has ended and hello must be said again.
func (h *Holder) Hello(ctx context.Context, describe func(context.Context) contract.Hello, timings contract.Timings) (contract.Welcome, <-chan struct{}, error) {
	for wait := helloRetryMin; ; wait = min(2*wait, helloRetryMax) {
		welcome, err := h.hello(ctx, describe(ctx), timings)
		switch {
		case err == nil && welcome.Refused != "":
			return welcome, nil, fmt.Errorf("%w: %s", ErrRefused, welcome.Refused)
		case err == nil:
			return welcome, h.expect(welcome), nil
		}
		h.log.Warn("hello failed; it is said again", "error", err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return contract.Welcome{}, nil, ctx.Err()
		}
	}
}

func (h *Holder) hello(ctx context.Context, hello contract.Hello, timings contract.Timings) (contract.Welcome, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	start := h.client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: contract.HostID(hello.Host), TaskQueue: contract.ControlPlaneQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, contract.WorkflowHost, contract.HostInput{Timings: timings})
	handle, err := h.client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{
			WorkflowID: contract.HostID(hello.Host), UpdateID: uuid.NewString(), UpdateName: contract.UpdateHello,
			Args: []any{hello}, WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	if err != nil {
		return contract.Welcome{}, err
	}
	var welcome contract.Welcome
	return welcome, handle.Get(ctx, &welcome)
}
