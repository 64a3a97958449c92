package step

import (
	"context"
	"fmt"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// discardWait is how long a removal waits for a step of the same workload: whoever is at work there has a use for it.
const discardWait = 2 * time.Second

// Discard removes an orphan under its workload's lock. It calls do only if the workload's record is what it was when the
// host was read: otherwise somebody has come between, and kept says so. do looks at the orphan itself again.
func (r *Runner) Discard(ctx context.Context, o contract.Orphan, do func(ctx context.Context, c *Call) (kept string, err error)) (kept string, err error) {
	workload := o.Thing.Workload
	unlock, err := r.store.Lock(ctx, workload, discardWait)
	if contract.ReasonOf(err) == v1.ReasonRuntimeUnavailable {
		return "a step is at work on its workload", nil
	}
	if err != nil {
		return "", err
	}
	defer unlock()
	rec, err := r.store.Get(workload)
	if err != nil {
		return "", err
	}
	if rec.Fence != o.Record {
		return fmt.Sprintf("its workload was worked on since: the record's fence is %d, and was %d", rec.Fence, o.Record), nil
	}
	return do(ctx, &Call{
		In: contract.StepIn{Ref: contract.Ref{
			Workload: workload, Kind: rec.Kind, Generation: o.Thing.Generation, Fence: rec.Fence, Verb: v1.VerbRemove,
		}},
		Dir: r.store.Dir(workload), Record: rec, store: r.store, exclusive: true, mayAct: r.MayAct,
	})
}
