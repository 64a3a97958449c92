package workload

import (
	"go.temporal.io/sdk/workflow"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// carryOut places a deploy and then runs the action's workflow. Between the two the placement is recorded, so that the
// child may bind it.
func (e *workloadEntity) carryOut(ctx workflow.Context, d Doing) (contract.StepOut, error) {
	ref := contract.Ref{
		Workload: e.s.Name, Kind: d.Spec.Kind, Generation: d.Generation, Fence: d.Fence, Verb: d.Verb, Attempt: d.Attempt,
		RequestID: d.RequestID,
	}
	if d.Kind == v1.VerbDeploy {
		placed, err := e.place(ctx, d)
		if err != nil {
			return contract.StepOut{}, err
		}
		e.s.Placed(placed)
		// The host shows at once; the phase is Deploying already.
		if err := e.publish(); err != nil {
			return contract.StepOut{}, err
		}
	}
	in := contract.ActionIn{
		Ref: ref, Host: e.s.Placement.Host, Instance: e.s.Placement.Instance, Spec: d.Spec, Timings: e.s.Timings,
		CreatedAt: d.StartedAt, Attempts: d.Try, Volumes: d.Volumes,
	}
	e.s.Doing.LaunchedAt = workflow.Now(ctx)
	ctx = workflow.WithChildOptions(ctx, contract.ActionChild(in, d.Kind, e.s.Doing.LaunchedAt))
	child := workflow.ExecuteChildWorkflow(ctx, contract.ActionWorkflow(d.Kind), in)
	var out contract.StepOut
	err := child.Get(ctx, &out)
	// One that was cancelled before it began has no run, and was no action.
	if begun := child.GetChildWorkflowExecution(); begun.IsReady() {
		var run workflow.Execution
		if begun.Get(ctx, &run) == nil {
			e.s.Doing.RunID = run.RunID
		}
	}
	return out, err
}

func (e *workloadEntity) place(ctx workflow.Context, d Doing) (contract.PlaceOut, error) {
	in := contract.PlaceIn{Reserve: contract.ReserveRequest{
		Workload: e.s.Name, Fence: d.Fence, Generation: d.Generation, Needs: d.Needs, Placement: d.Spec.Spec().Placement,
	}, Priority: d.Spec.Spec().Priority, Since: d.StartedAt}
	if !e.s.WaitsSince.IsZero() {
		in.Since = e.s.WaitsSince
	}
	if e.s.Placement != nil {
		in.Pinned = e.s.Placement.Host
	}
	var out contract.PlaceOut
	ctx = workflow.WithActivityOptions(ctx, contract.PlacementActivity())
	if err := workflow.ExecuteActivity(ctx, contract.ActivityPlace, in).Get(ctx, &out); err != nil {
		failure := *contract.FromActivityError(err)
		failure.Step = contract.ActivityPlace
		return out, &failure
	}
	return out, nil
}

// tell brings the host's ledger up to date. The signals are ordered by fence, so no action waits for them.
func (e *workloadEntity) tell(l Ledger) {
	switch {
	case l.Settle != nil:
		e.Send(contract.HostID(l.Host), contract.SignalSettle, *l.Settle)
	case l.Release != nil:
		e.Send(contract.HostID(l.Host), contract.SignalRelease, *l.Release)
	}
}

// acknowledge lets the host drop a job's ended attempt, beside the loop: the host may be away.
func (e *workloadEntity) acknowledge() {
	a := *e.s.Job.Unacknowledged
	in := contract.StepIn{Ref: contract.Ref{
		Workload: e.s.Name, Kind: e.s.Workload.Kind, Generation: e.s.Generation, Fence: a.Fence, Attempt: a.Number, Verb: v1.VerbDeploy,
	}}
	queue := contract.HostControlQueue(e.s.Placement.Host, e.s.Placement.Instance)
	e.tell(e.s.Acknowledge())
	workflow.Go(e.Ctx, func(ctx workflow.Context) {
		ctx = workflow.WithActivityOptions(ctx, contract.HostActivity(queue, e.s.Timings))
		err := workflow.ExecuteActivity(ctx, contract.ActivityName(in.Ref.Kind, contract.StepAcknowledge), in).Get(ctx, nil)
		if err != nil && contract.FromActivityError(err).Reason == v1.ReasonStaleFence {
			err = nil // a later action has taken care of what was left
		}
		e.s.Acknowledged(err, workflow.Now(ctx))
		e.Wake()
	})
}

// leaveQueue tells the queue that the workload waits no more.
func (e *workloadEntity) leaveQueue() {
	if e.s.Leaving == 0 {
		return
	}
	e.Send(contract.QueueID, contract.SignalLeave, contract.LeaveQueue{Workload: e.s.Name, Fence: e.s.Leaving})
	e.s.Leaving = 0
}

// evict asks the host's ledger to let the workload go, beside the loop.
func (e *workloadEntity) evict() {
	e.s.Evicting = true
	in := contract.EvictRequest{
		Host: e.s.Placement.Host, Instance: e.s.Placement.Instance, Workload: e.s.Name, Fence: e.s.mint(workflow.Now(e.Ctx)),
		Volumes: e.s.Wanted == WantRemoved && e.s.DropVolumes,
	}
	workflow.Go(e.Ctx, func(ctx workflow.Context) {
		ctx = workflow.WithActivityOptions(ctx, contract.ControlActivity())
		var reply contract.EvictReply
		err := workflow.ExecuteActivity(ctx, contract.ActivityEvict, in).Get(ctx, &reply)
		e.s.Evicted(reply, err, workflow.Now(ctx))
		e.Wake()
	})
}
