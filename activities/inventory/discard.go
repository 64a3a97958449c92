package inventory

import (
	"context"

	"github.com/berth-dev/berth/activities/failpoint"
	"github.com/berth-dev/berth/activities/step"
	"github.com/berth-dev/berth/workflows/contract"
)

// Discard removes orphans, one after the other. A failure is one's own fate: the others are removed all the same.
func (a *Activities) Discard(ctx context.Context, in contract.DiscardIn) (contract.DiscardOut, error) {
	defer beat(ctx)()
	failpoint.Hit(contract.ActivityDiscard+".begin", a.Host)
	out := contract.DiscardOut{Fates: make([]contract.Fate, len(in.Orphans))}
	for i, o := range in.Orphans {
		kept, err := a.discard(ctx, o)
		if ctx.Err() != nil {
			return contract.DiscardOut{}, context.Cause(ctx)
		}
		t := o.Thing
		switch {
		case err != nil:
			out.Fates[i].Failed = contract.FromActivityError(err).Error()
			a.Log.Warn("an orphan could not be removed", "kind", t.Kind, "name", t.Name, "workload", t.Workload, "error", err)
		case kept != "":
			out.Fates[i].Kept = kept
			a.Log.Info("what looked like an orphan was kept", "kind", t.Kind, "name", t.Name, "workload", t.Workload, "why", kept)
		default:
			a.Log.Info("orphan removed", "kind", t.Kind, "name", t.Name, "workload", t.Workload, "fence", t.Fence)
		}
	}
	failpoint.Hit(contract.ActivityDiscard+".end", a.Host)
	return out, nil
}

func (a *Activities) discard(ctx context.Context, o contract.Orphan) (kept string, err error) {
	s, err := a.sourceOf(o.Thing.Kind)
	if err != nil {
		return "", err
	}
	return a.Runner.Discard(ctx, o, func(ctx context.Context, c *step.Call) (string, error) {
		if (o.Thing.Kind == contract.ThingDisk || o.Thing.Kind == contract.ThingVolume) && !o.Proven && !covers(c, o) {
			return "nothing proves that its data may go", nil
		}
		return s.Discard(ctx, c, o)
	})
}

// covers reports whether the host's own tombstone proves that a thing may go.
func covers(c *step.Call, o contract.Orphan) bool {
	return c.Record.Tombstone() && c.Record.Fence >= o.Thing.Fence && !kept(c.Record, o.Thing)
}
