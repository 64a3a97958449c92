package contract

import (
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	v1 "github.com/berth-dev/berth/api/v1"
)

// The classes of activities. An activity retries transients within about a minute; only the entity backs off for longer,
// counts and shows attempts.

// stepLimit bounds a step that makes progress all the time. What bounds one that makes none is its heartbeat, and the
// driver's own limits.
const stepLimit = 24 * time.Hour

// leaseLimit is longer than any agent runs: a HoldLease ends by its heartbeat.
const leaseLimit = 10 * 365 * 24 * time.Hour

// ControlActivity is for the control worker's own activities: short calls to Temporal. What a host refuses is an answer,
// not a fault to retry here.
func ControlActivity() workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:           ControlPlaneQueue,
		StartToCloseTimeout: 10 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second, MaximumAttempts: 8,
			// A runtime that is off is a host's answer here; for a step it may be a moment's matter.
			NonRetryableErrorTypes: append(refusals(), string(v1.ReasonRuntimeUnavailable)),
		},
		WaitForCancellation: true,
	}
}

// PlacementActivity asks several hosts in turn and says by heartbeat whom it is about to ask.
func PlacementActivity() workflow.ActivityOptions {
	o := ControlActivity()
	o.StartToCloseTimeout = time.Minute
	o.HeartbeatTimeout = 10 * time.Second
	return o
}

// HostActivity is for a step on a host. It has no ScheduleToStart: whether the host lives is the lease's business.
func HostActivity(queue string, t Timings) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:           queue,
		StartToCloseTimeout: stepLimit,
		HeartbeatTimeout:    t.ActivityHeartbeat,
		WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second, MaximumAttempts: 5,
			NonRetryableErrorTypes: refusals(),
		},
	}
}

// LeaseActivity is for HoldLease alone. It is never retried: its end is the message. Its ScheduleToStart is the lease, so
// that an agent that died between hello and the first poll is noticed.
func LeaseActivity(in LeaseInput) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:              HostControlQueue(in.Host, in.Instance),
		ScheduleToStartTimeout: in.Timings.Lease,
		StartToCloseTimeout:    leaseLimit,
		HeartbeatTimeout:       in.Timings.Lease,
		WaitForCancellation:    false,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
	}
}

// ActionChild is for an action's workflow. A cancel of it is waited for; it is listed by its search attributes.
func ActionChild(in ActionIn, verb v1.Verb, started time.Time) workflow.ChildWorkflowOptions {
	ref := in.Ref
	id := ActionID(ref.Workload, verb, ref.Fence)
	return workflow.ChildWorkflowOptions{
		WorkflowID:            id,
		TaskQueue:             ControlPlaneQueue,
		WaitForCancellation:   true,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		RetryPolicy:           nil,
		Memo:                  map[string]any{MemoStatus: in.Shown(id, started)},
		TypedSearchAttributes: temporal.NewSearchAttributes(
			AttrWorkload.ValueSet(ref.Workload), AttrKind.ValueSet(string(ref.Kind)), AttrVerb.ValueSet(string(ref.Verb)),
			AttrHost.ValueSet(in.Host), AttrFence.ValueSet(ref.Fence), AttrOutcome.ValueSet(string(v1.OutcomeRunning)),
			AttrGeneration.ValueSet(ref.Generation),
		),
	}
}

// SweepChild is for the sweep as a child of a scheduled run. Its id is the same for all, so that there is one at a time.
func SweepChild() workflow.ChildWorkflowOptions {
	return workflow.ChildWorkflowOptions{
		WorkflowID:            SweepID,
		TaskQueue:             ControlPlaneQueue,
		WorkflowRunTimeout:    SweepLimit,
		WaitForCancellation:   true,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}
}

// refusals are the reasons that retrying the same call at once can't change.
func refusals() []string {
	reasons := []v1.Reason{
		v1.ReasonNoCapacity, v1.ReasonNoMatchingHost, v1.ReasonHostOffline, v1.ReasonHostLost, v1.ReasonPortConflict, v1.ReasonStaleFence,
		v1.ReasonBootTimeout, v1.ReasonUnhealthy, v1.ReasonExited, v1.ReasonDiskFull, v1.ReasonSuperseded,
	}
	types := make([]string, len(reasons))
	for i, r := range reasons {
		types[i] = string(r)
	}
	return types
}

// FleetActivity reads many entities on the control plane, or tells many something.
func FleetActivity() workflow.ActivityOptions {
	o := ControlActivity()
	o.StartToCloseTimeout = time.Minute
	o.RetryPolicy.MaximumAttempts = 4
	return o
}

// AdoptActivity is for a record that a host is given again. A host that does not take it up in time says once more that it has
// none when it is back.
func AdoptActivity(queue string) workflow.ActivityOptions {
	o := SweepActivity(queue)
	o.StartToCloseTimeout = 2 * time.Minute
	return o
}

// SweepActivity is for what a sweep asks of a host. A host that does not take it up in time is left alone: nobody waits for
// a sweep.
func SweepActivity(queue string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:              queue,
		ScheduleToStartTimeout: 20 * time.Second,
		StartToCloseTimeout:    SweepLimit,
		HeartbeatTimeout:       15 * time.Second,
		WaitForCancellation:    true,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumAttempts: 2},
	}
}
