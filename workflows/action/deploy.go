package action

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/berth-dev/berth/workflows/contract"
)

// versionRefusedBind is the change by which a refused bind ends a deploy at once.
const versionRefusedBind = "refused-bind"

// Deploy makes a spec run on the host that the entity has reserved: also a start, a restart and a relocation. The grant is
// bound while the host prepares; nothing is mutated before both are done.
func Deploy(ctx workflow.Context, in contract.ActionIn) (contract.StepOut, error) {
	return perform(ctx, in, func(ctx workflow.Context) (contract.StepOut, error) {
		bindCtx := workflow.WithActivityOptions(ctx, contract.ControlActivity())
		bind := workflow.ExecuteActivity(bindCtx, contract.ActivityBind, contract.BindRequest{
			Host: in.Host, Workload: in.Ref.Workload, Fence: in.Ref.Fence,
		})
		prepareCtx, cancelPrepare := workflow.WithCancel(ctx)
		defer cancelPrepare()
		prepare := begin(prepareCtx, in, contract.PlannedStep{Step: contract.StepPrepare}, false)
		if refused := firstRefusal(ctx, bind, prepare); refused != nil && !temporal.IsCanceledError(refused) {
			// A host that does not bind may be gone, and then never prepares: nobody waits for it.
			if workflow.GetVersion(ctx, versionRefusedBind, workflow.DefaultVersion, 1) == 1 {
				cancelPrepare()
				return contract.StepOut{}, at(contract.ActivityBind, refused)
			}
		}
		var prepared contract.StepOut
		if err := prepare.Get(ctx, &prepared); err != nil {
			return prepared, at(string(contract.StepPrepare), err)
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

// firstRefusal waits until the bind is done, or the preparation, and returns why the bind failed if it was the first.
func firstRefusal(ctx workflow.Context, bind, prepare workflow.Future) error {
	var refused error
	workflow.NewSelector(ctx).
		AddFuture(prepare, func(workflow.Future) {}).
		AddFuture(bind, func(f workflow.Future) { refused = f.Get(ctx, nil) }).
		Select(ctx)
	return refused
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
	later.Made = append(later.Made, earlier.Made...)
	return later
}
