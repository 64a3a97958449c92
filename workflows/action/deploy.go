package action

import (
	"go.temporal.io/sdk/workflow"

	"github.com/berth-dev/berth/workflows/contract"
)

// Deploy makes a spec run on the host that the entity has reserved: also a start, a restart and a relocation. The grant is
// bound while the host prepares; nothing is mutated before both are done.
func Deploy(ctx workflow.Context, in contract.ActionIn) (contract.StepOut, error) {
	return perform(ctx, in, func(ctx workflow.Context) (contract.StepOut, error) {
		bindCtx := workflow.WithActivityOptions(ctx, contract.ControlActivity())
		bind := workflow.ExecuteActivity(bindCtx, contract.ActivityBind, contract.BindRequest{
			Host: in.Host, Workload: in.Ref.Workload, Fence: in.Ref.Fence,
		})
		prepared, err := step(ctx, in, contract.PlannedStep{Step: contract.StepPrepare}, false)
		if err != nil {
			return prepared, err
		}
		if err := bind.Get(ctx, nil); err != nil {
			return prepared, at(contract.ActivityBind, err)
		}
		var out contract.StepOut
		steps := contract.DeploySteps(in.Spec)
		for i, s := range steps {
			next, err := step(ctx, in, s, i == len(steps)-1)
			if err != nil {
				return out, err
			}
			out = merge(out, next)
		}
		return out, nil
	})
}

// merge keeps what an earlier step found out and a later one does not say.
func merge(earlier, later contract.StepOut) contract.StepOut {
	if later.RuntimeID == "" {
		later.RuntimeID = earlier.RuntimeID
	}
	if later.StartedAt.IsZero() {
		later.StartedAt = earlier.StartedAt
	}
	if len(later.Addresses) == 0 {
		later.Addresses = earlier.Addresses
	}
	if len(later.Ports) == 0 {
		later.Ports = earlier.Ports
	}
	if later.Found == "" {
		later.Found = earlier.Found
	}
	if later.Exit == nil {
		later.Exit = earlier.Exit
	}
	return later
}
