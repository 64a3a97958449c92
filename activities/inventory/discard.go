package inventory

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/berth-dev/berth/activities/failpoint"
	"github.com/berth-dev/berth/activities/step"
	"github.com/berth-dev/berth/workflows/contract"
)

// removesAtOnce bounds how many orphans a host removes at a time. One that does not heed its signal to end takes ten seconds
// and costs next to nothing meanwhile. It divides what a sweep sends at once, so that no round is half empty.
const removesAtOnce = 5

// Discard removes orphans in the order of their kinds: what uses something before what it uses. Of one kind several go at a
// time. A failure is one's own fate: the others are removed all the same.
func (a *Activities) Discard(ctx context.Context, in contract.DiscardIn) (contract.DiscardOut, error) {
	defer beat(ctx)()
	failpoint.Hit(contract.ActivityDiscard+".begin", a.Host)
	out := contract.DiscardOut{Fates: make([]contract.Fate, len(in.Orphans))}
	for begin := 0; begin < len(in.Orphans); {
		end := begin + 1
		for end < len(in.Orphans) && in.Orphans[end].Thing.Kind == in.Orphans[begin].Thing.Kind {
			end++
		}
		a.discardKind(ctx, in.Orphans[begin:end], out.Fates[begin:end])
		if ctx.Err() != nil {
			return contract.DiscardOut{}, context.Cause(ctx)
		}
		begin = end
	}
	failpoint.Hit(contract.ActivityDiscard+".end", a.Host)
	return out, nil
}

// discardKind removes orphans of one kind, several at a time, and notes what became of each. Those of one workload go one
// after the other: each takes the workload's lock, and who finds it taken leaves what he came for.
func (a *Activities) discardKind(ctx context.Context, orphans []contract.Orphan, fates []contract.Fate) {
	var removing errgroup.Group
	removing.SetLimit(removesAtOnce)
	for _, group := range byWorkload(orphans) {
		removing.Go(func() error {
			for _, i := range group {
				if ctx.Err() == nil {
					fates[i] = a.fate(ctx, orphans[i])
				}
			}
			return nil
		})
	}
	_ = removing.Wait() // a failure is one's own fate
}

// byWorkload are the indices of the orphans of each workload, in order.
func byWorkload(orphans []contract.Orphan) [][]int {
	var all [][]int
	at := map[string]int{}
	for i, o := range orphans {
		k, ok := at[o.Thing.Workload]
		if !ok {
			k = len(all)
			at[o.Thing.Workload] = k
			all = append(all, nil)
		}
		all[k] = append(all[k], i)
	}
	return all
}

// fate removes one orphan.
func (a *Activities) fate(ctx context.Context, o contract.Orphan) contract.Fate {
	kept, err := a.discard(ctx, o)
	t := o.Thing
	switch {
	case err != nil:
		if ctx.Err() == nil {
			a.Log.Warn("an orphan could not be removed", "kind", t.Kind, "name", t.Name, "workload", t.Workload, "error", err)
		}
		return contract.Fate{Failed: contract.FromActivityError(err).Error()}
	case kept != "":
		a.Log.Info("what looked like an orphan was kept", "kind", t.Kind, "name", t.Name, "workload", t.Workload, "why", kept)
	default:
		a.Log.Info("orphan removed", "kind", t.Kind, "name", t.Name, "workload", t.Workload, "fence", t.Fence)
	}
	return contract.Fate{Kept: kept}
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
