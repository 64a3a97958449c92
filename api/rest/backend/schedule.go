package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// sweepEvery is how often sweeps run unless an operator says otherwise.
	sweepEvery = 10 * time.Minute
	// sweepCatchup is how late a sweep may still begin: an older one has nothing to add to the next.
	sweepCatchup = 2 * time.Minute
)

// EnsureSweepSchedule makes the schedule of the sweep if there is none. What an operator has changed stays: only what
// belongs to this version of Berth, which workflow is started and where, is put right.
func EnsureSweepSchedule(ctx context.Context, c client.Client) error {
	action := &client.ScheduleWorkflowAction{ID: contract.SweepScheduleID, Args: []any{contract.SweepInput{}}}
	own(action)
	_, err := c.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID: contract.SweepScheduleID, Action: action,
		Spec:    client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: sweepEvery}}},
		Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP, CatchupWindow: sweepCatchup,
	})
	if err == nil {
		return nil
	}
	if !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return fmt.Errorf("make the schedule of the sweep: %w", err)
	}
	err = c.ScheduleClient().GetHandle(ctx, contract.SweepScheduleID).Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			action, ok := in.Description.Schedule.Action.(*client.ScheduleWorkflowAction)
			if !ok || !own(action) {
				return nil, temporal.ErrSkipScheduleUpdate
			}
			return &client.ScheduleUpdate{Schedule: &in.Description.Schedule}, nil
		},
	})
	if err != nil && !errors.Is(err, temporal.ErrSkipScheduleUpdate) {
		return fmt.Errorf("look after the schedule of the sweep: %w", err)
	}
	return nil
}

// own makes an action start this version's workflow; it reports whether anything was another.
func own(a *client.ScheduleWorkflowAction) bool {
	if a.Workflow == contract.WorkflowScheduledSweep && a.TaskQueue == contract.ControlPlaneQueue && a.WorkflowRunTimeout == contract.SweepLimit {
		return false
	}
	a.Workflow, a.TaskQueue, a.WorkflowRunTimeout = contract.WorkflowScheduledSweep, contract.ControlPlaneQueue, contract.SweepLimit
	return true
}

// SweepSchedule returns when sweeps run by themselves, and how.
func (b *Backend) SweepSchedule(ctx context.Context) (v1.SweepSchedule, error) {
	d, err := b.Client.ScheduleClient().GetHandle(ctx, contract.SweepScheduleID).Describe(ctx)
	if err != nil {
		return v1.SweepSchedule{}, scheduleFault(err)
	}
	out := v1.SweepSchedule{Skipped: int64(d.Info.NumActionsSkippedOverlap)}
	if s := d.Schedule.State; s != nil {
		out.Paused, out.Note = s.Paused, s.Note
	}
	if s := d.Schedule.Spec; s != nil && len(s.Intervals) == 1 {
		out.Interval = v1.Duration(s.Intervals[0].Every)
	}
	if n := len(d.Info.NextActionTimes); n > 0 && !out.Paused {
		out.NextRun = &d.Info.NextActionTimes[0]
	}
	if n := len(d.Info.RecentActions); n > 0 {
		out.LastRun = &d.Info.RecentActions[n-1].ActualTime
	}
	out.Request, err = scheduledRequest(d.Schedule, b.Data)
	return out, err
}

// scheduledRequest is what the schedule asks of its sweeps.
func scheduledRequest(s client.Schedule, data converter.DataConverter) (v1.SweepRequest, error) {
	var in contract.SweepInput
	if action, ok := s.Action.(*client.ScheduleWorkflowAction); ok && len(action.Args) == 1 {
		if p, ok := action.Args[0].(*commonpb.Payload); ok {
			if err := data.FromPayload(p, &in); err != nil {
				return v1.SweepRequest{}, fmt.Errorf("read the schedule's request: %w", err)
			}
		}
	}
	in.Request.Default()
	return in.Request, nil
}

// ChangeSweepSchedule changes when sweeps run by themselves, and how. Who pauses and resumes is for the note.
func (b *Backend) ChangeSweepSchedule(ctx context.Context, change v1.SweepScheduleChange) (v1.SweepSchedule, error) {
	if change.Request != nil {
		err := b.checkHosts(ctx, change.Request.Hosts)
		var wrong v1.FieldErrors
		if errors.As(err, &wrong) {
			return v1.SweepSchedule{}, wrong.Under("request")
		}
		if err != nil {
			return v1.SweepSchedule{}, err
		}
	}
	handle := b.Client.ScheduleClient().GetHandle(ctx, contract.SweepScheduleID)
	err := handle.Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			s := in.Description.Schedule
			if change.Paused != nil && s.State != nil && s.State.Paused != *change.Paused {
				s.State.Paused, s.State.Note = *change.Paused, "resumed by the API"
				if *change.Paused {
					s.State.Note = "paused by the API"
				}
			}
			if change.Interval != nil {
				s.Spec = &client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: change.Interval.D()}}}
			}
			if action, ok := s.Action.(*client.ScheduleWorkflowAction); ok && change.Request != nil {
				action.Args = []any{contract.SweepInput{Request: *change.Request}}
			}
			return &client.ScheduleUpdate{Schedule: &s}, nil
		},
	})
	if err != nil {
		return v1.SweepSchedule{}, scheduleFault(err)
	}
	return b.SweepSchedule(ctx)
}

func scheduleFault(err error) error {
	if isNotFound(err) {
		return contract.Permanent(v1.ReasonNotFound, "it is made when a `berth server` starts", "there is no schedule %q", contract.SweepScheduleID)
	}
	return fault(err)
}
