package backend

import (
	"context"

	workflowpb "go.temporal.io/api/workflow/v1"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// progress is what the pending steps of an action said in their last heartbeats. It costs no history, and no worker.
// An action that cannot be read has none: the status says enough.
func (b *Backend) progress(ctx context.Context, actionID string) []v1.Progress {
	info, err := b.describe(ctx, actionID)
	if err != nil {
		if !isNotFound(err) {
			b.Logger.WarnContext(ctx, "the progress of an action cannot be read", "action", actionID, "error", err)
		}
		return nil
	}
	var out []v1.Progress
	for _, pending := range info.GetPendingActivities() {
		out = append(out, b.step(ctx, pending))
	}
	return out
}

func (b *Backend) step(ctx context.Context, pending *workflowpb.PendingActivityInfo) v1.Progress {
	var p v1.Progress
	if beats := pending.GetHeartbeatDetails().GetPayloads(); len(beats) > 0 {
		if err := b.Data.FromPayload(beats[0], &p); err != nil {
			b.Logger.WarnContext(ctx, "a heartbeat is no progress", "step", pending.GetActivityType().GetName(), "error", err)
		}
	}
	if p.Step == "" {
		p.Step = pending.GetActivityType().GetName()
	}
	p.Attempt = int(pending.GetAttempt())
	if failure := pending.GetLastFailure(); failure != nil {
		p.LastFailure = contract.FromActivityError(b.failures.FailureToError(failure)).Message
	}
	return p
}
