package action

import (
	"go.temporal.io/sdk/workflow"

	"github.com/berth-dev/berth/workflows/contract"
)

// Stop ends what runs, gracefully and then by force, and keeps disks, volumes and ports.
func Stop(ctx workflow.Context, in contract.ActionIn) (contract.StepOut, error) {
	return end(ctx, in, contract.StepStop)
}

// Remove ends what runs and removes all that Berth made for the workload. What a user brought stays.
func Remove(ctx workflow.Context, in contract.ActionIn) (contract.StepOut, error) {
	return end(ctx, in, contract.StepRemove)
}

func end(ctx workflow.Context, in contract.ActionIn, s contract.Step) (contract.StepOut, error) {
	return perform(ctx, in, func(ctx workflow.Context) (contract.StepOut, error) {
		return step(ctx, in, contract.PlannedStep{Step: s}, true)
	})
}
