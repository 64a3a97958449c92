// Package action is the operations on a workload: deploy, stop and remove. Each is a child workflow of the workload's
// entity, and is listed fleet-wide by its search attributes and memo.
package action

import (
	"go.temporal.io/sdk/workflow"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// perform runs an action and records its outcome where lists find it.
func perform(ctx workflow.Context, in contract.ActionIn, do func(workflow.Context) (contract.StepOut, error)) (contract.StepOut, error) {
	out, err := unlessGivenUp(ctx, do)
	// What must be said after a cancel is said on a disconnected context.
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	now, info := workflow.Now(ctx), workflow.GetInfo(ctx)
	shown := in.Shown(info.WorkflowExecution.ID, info.WorkflowStartTime)
	shown.Outcome, shown.EndedAt = v1.OutcomeSucceeded, &now
	if err != nil {
		failure := contract.FromActivityError(err)
		shown.Outcome, shown.Reason, shown.Step = v1.OutcomeFailed, failure.Reason, failure.Step
		shown.Message = contract.Clip(failure.Message, 600)
		if failure.Reason == v1.ReasonSuperseded {
			shown.Outcome, shown.Reason, shown.Message = v1.OutcomeSuperseded, v1.ReasonNone, ""
			err = contract.Canceled(failure.Step)
		} else {
			err = contract.AsActivityError(failure)
		}
	}
	if upsert := workflow.UpsertMemo(ctx, map[string]any{contract.MemoStatus: shown}); upsert != nil {
		return out, upsert
	}
	upsert := workflow.UpsertTypedSearchAttributes(ctx,
		contract.AttrOutcome.ValueSet(string(shown.Outcome)), contract.AttrReason.ValueSet(string(shown.Reason)))
	if upsert != nil {
		return out, upsert
	}
	return out, err
}

// unlessGivenUp does what an action does, until the entity gives the host up: a host that is gone would never say that a step
// was cancelled. Which step that was is not told, because more may have come through there than was heard of.
func unlessGivenUp(ctx workflow.Context, do func(workflow.Context) (contract.StepOut, error)) (out contract.StepOut, err error) {
	givenUp, done := workflow.GetSignalChannel(ctx, contract.SignalGiveUp), false
	workflow.Go(ctx, func(ctx workflow.Context) {
		out, err = do(ctx)
		done = true
	})
	own, _ := workflow.NewDisconnectedContext(ctx) // a cancel alone is waited for
	if waiting := workflow.Await(own, func() bool { return done || givenUp.Len() > 0 }); waiting != nil {
		return contract.StepOut{}, waiting
	}
	if !done {
		return contract.StepOut{}, contract.Canceled("")
	}
	return out, err
}

// step runs one step on the workload's host. Its error says which step it was.
func step(ctx workflow.Context, in contract.ActionIn, s contract.PlannedStep, last bool) (contract.StepOut, error) {
	var out contract.StepOut
	err := begin(ctx, in, s, last).Get(ctx, &out)
	return out, at(string(s.Step), err)
}

// begin schedules one step on the workload's host.
func begin(ctx workflow.Context, in contract.ActionIn, s contract.PlannedStep, last bool) workflow.Future {
	queue := contract.HostControlQueue(in.Host, in.Instance)
	if s.Bulk {
		queue = contract.HostBulkQueue(in.Host, in.Instance)
	}
	ctx = workflow.WithActivityOptions(ctx, contract.HostActivity(queue, in.Timings))
	return workflow.ExecuteActivity(ctx, contract.ActivityName(in.Ref.Kind, s.Step),
		contract.StepIn{Ref: in.Ref, Spec: in.Spec, Last: last, Volumes: in.Volumes, Since: in.Since})
}

// at adds the step to an error.
func at(step string, err error) error {
	if err == nil {
		return nil
	}
	e := *contract.FromActivityError(err)
	e.Step = step
	return &e
}
