package workload

import (
	"time"

	"go.temporal.io/sdk/workflow"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// changeGiveUp is since when a cancelled action is told that its host is lost.
const changeGiveUp = "give-up"

// changeDrainAway is since when a drain waits neither for a host that is lost while it is left, nor for one whose agent has said
// goodbye.
const changeDrainAway = "drain-away"

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
	host, instance := e.s.actsOn(d.Remain)
	if d.StopFirst {
		if err := e.leaveHome(ctx, d, ref); err != nil {
			return contract.StepOut{}, err
		}
	}
	in := contract.ActionIn{
		Ref: ref, Host: host, Instance: instance, Spec: d.Spec, Timings: e.s.Timings,
		CreatedAt: d.StartedAt, Attempts: d.Try, Volumes: d.Volumes, Since: e.s.DataAt,
	}
	e.s.Doing.LaunchedAt = workflow.Now(ctx)
	out, runID, err := act(ctx, d.Kind, in, e.s.Doing.LaunchedAt)
	e.s.Doing.RunID = runID
	return out, err
}

// act runs an action's workflow as a child, and says under which run id. One that was cancelled before it began has no run,
// and was no action.
func act(ctx workflow.Context, action v1.Verb, in contract.ActionIn, launched time.Time) (out contract.StepOut, runID string, err error) {
	ctx = workflow.WithChildOptions(ctx, contract.ActionChild(in, action, launched))
	child := workflow.ExecuteChildWorkflow(ctx, contract.ActionWorkflow(action), in)
	err = child.Get(ctx, &out)
	if begun := child.GetChildWorkflowExecution(); begun.IsReady() {
		var run workflow.Execution
		if begun.Get(ctx, &run) == nil {
			runID = run.RunID
		}
	}
	return out, runID, err
}

// giveUp tells the open action that its host is lost. What its steps still do there is covered by the fence of what comes next,
// and by the debt that the host is left with.
func (e *workloadEntity) giveUp() {
	d := e.s.Doing
	d.GivenUp = true
	action, change := d.Kind, changeGiveUp
	if e.s.leaving() != nil && d.LaunchedAt.IsZero() {
		action, change = v1.VerbRemove, changeDrainAway
	}
	if workflow.GetVersion(e.Ctx, change, workflow.DefaultVersion, 1) == 1 {
		e.Send(contract.ActionID(e.s.Name, action, d.Fence), contract.SignalGiveUp, nil)
	}
}

// leaveHome removes what runs on the old host before the new copy starts. The new host's grant is kept first: nothing is
// stopped that has nowhere to go.
func (e *workloadEntity) leaveHome(ctx workflow.Context, d Doing, ref contract.Ref) error {
	bind := contract.BindRequest{Host: e.s.Placement.Host, Workload: e.s.Name, Fence: d.Fence}
	bctx := workflow.WithActivityOptions(ctx, contract.ControlActivity())
	if err := workflow.ExecuteActivity(bctx, contract.ActivityBind, bind).Get(bctx, nil); err != nil {
		return at(contract.ActivityBind, err)
	}
	from := e.s.Doing.From.Placement
	in := contract.ActionIn{
		Ref: ref, Host: from.Host, Instance: from.Instance, Spec: d.Spec, Timings: e.s.Timings, CreatedAt: d.StartedAt, Attempts: d.Try,
	}
	e.s.LeavesHome()
	launched := workflow.Now(ctx)
	_, runID, err := act(ctx, v1.VerbRemove, in, launched)
	e.s.rememberLeaving(runID, launched, err, workflow.Now(ctx))
	if err != nil {
		return at(stepLeave, err)
	}
	e.tell(e.s.LeftHome())
	return nil
}

// at adds the step to an error.
func at(step string, err error) error {
	failure := *contract.FromActivityError(err)
	failure.Step = step
	return &failure
}

func (e *workloadEntity) place(ctx workflow.Context, d Doing) (contract.PlaceOut, error) {
	in := contract.PlaceIn{Reserve: contract.ReserveRequest{
		Workload: e.s.Name, Fence: d.Fence, Generation: d.Generation, Needs: d.Needs, Placement: d.Spec.Spec().Placement,
	}, Priority: d.Spec.Spec().Priority, Since: d.StartedAt}
	if !e.s.WaitsSince.IsZero() {
		in.Since = e.s.WaitsSince
	}
	switch {
	case d.Relocate:
		in.Leaves = e.s.Placement.Host
	case e.s.Placement != nil:
		in.Pinned, in.Reserve.Instance = e.s.Placement.Host, e.s.Placement.Instance
	}
	var out contract.PlaceOut
	ctx = workflow.WithActivityOptions(ctx, contract.PlacementActivity())
	if err := workflow.ExecuteActivity(ctx, contract.ActivityPlace, in).Get(ctx, &out); err != nil {
		return out, at(contract.ActivityPlace, err)
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
		e.s.Acknowledged(a, err, workflow.Now(ctx))
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

// evict asks the ledger of a host that is away to let the workload go, beside the loop: its own host, or one on which
// something was left behind.
func (e *workloadEntity) evict(step Step) {
	e.s.Evicting = true
	in := contract.EvictRequest{Workload: e.s.Name, Kind: e.s.Workload.Kind, Fence: e.s.mint(workflow.Now(e.Ctx))}
	in.Host, in.Instance = e.s.actsOn(step.Remain)
	if step.Remain == "" {
		in.Volumes = e.s.Wanted == WantRemoved && e.s.DropVolumes
		if e.s.strict() {
			in.Grace = e.s.Timings.Grace
		}
	}
	workflow.Go(e.Ctx, func(ctx workflow.Context) {
		ctx = workflow.WithActivityOptions(ctx, contract.ControlActivity())
		var reply contract.EvictReply
		err := workflow.ExecuteActivity(ctx, contract.ActivityEvict, in).Get(ctx, &reply)
		e.s.Evicted(step.Remain, reply, err, workflow.Now(ctx))
		e.Wake()
	})
}

// answerDrain tells a host that is drained how far the workload has got in leaving it.
func (e *workloadEntity) answerDrain() {
	if answer, news := e.s.DrainStanding(); news {
		e.Send(contract.HostID(e.s.Drain.Host), contract.SignalDrainStanding, answer)
	}
}
