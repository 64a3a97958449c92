package step

import (
	"context"
	"time"

	"github.com/berth-dev/berth/activities/record"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Restart starts a workload that ended by itself, under its lock. It does nothing if, once the lock is held, still says
// that the record no longer asks for it.
func (r *Runner) Restart(ctx context.Context, rt Runtime, workload string, counted bool, still func(record.Record) bool) (err error) {
	unlock, err := r.store.Lock(ctx, workload, lockWait)
	if err != nil {
		return err
	}
	defer unlock()
	rec, err := r.store.Get(workload)
	if err != nil || !still(rec) || rec.Spec == nil {
		return err
	}
	c := r.ownCall(rec)
	leave, err := r.strictHere(c, *rec.Spec)
	if err != nil {
		return err
	}
	defer func() { leave(err == nil) }()
	if counted {
		// Counted before it is done: a crash in between counts one too many, never one too few.
		if err := c.Save(func(rec *record.Record) { rec.Restarts++ }); err != nil {
			return err
		}
	}
	return rt.Restart(ctx, c)
}

// Mend lets a runtime put right what it found of a workload that runs, under its lock. It does nothing if, once the lock is held,
// still says that the record no longer asks for it. done says what was put right, if anything was.
func (r *Runner) Mend(ctx context.Context, rt Mender, workload string, still func(record.Record) bool) (done string, err error) {
	unlock, err := r.store.Lock(ctx, workload, lockWait)
	if err != nil {
		return "", err
	}
	defer unlock()
	rec, err := r.store.Get(workload)
	if err != nil || !still(rec) || rec.Spec == nil {
		return "", err
	}
	return rt.Mend(ctx, r.ownCall(rec))
}

// ownCall is a call that no action asked for: it works under the fence of the last one. The lock is held, and there is a spec.
func (r *Runner) ownCall(rec record.Record) *Call {
	return &Call{
		In: contract.StepIn{Spec: *rec.Spec, Ref: contract.Ref{
			Workload: rec.Workload, Kind: rec.Kind, Generation: rec.Generation, Fence: rec.Fence, Verb: rec.Verb, Attempt: rec.Attempt,
		}},
		Dir: r.store.Dir(rec.Workload), Record: rec, store: r.store, exclusive: true, mayAct: r.MayAct,
	}
}

// KeepExit persists how a job's attempt ended, so that it is told again until the control plane has recorded it.
func (r *Runner) KeepExit(ctx context.Context, workload string, fence int64, exit contract.Exit) error {
	unlock, err := r.store.Lock(ctx, workload, lockWait)
	if err != nil {
		return err
	}
	defer unlock()
	rec, err := r.store.Get(workload)
	if err != nil || rec.Fence != fence || rec.Exit != nil {
		return err
	}
	rec.Exit = &exit
	return r.store.Put(rec)
}

// Evict removes what a host still has of a workload that was let go: it runs elsewhere, or is wanted no more. Where nothing
// is left it only sees to it that work of a lower fence, which may still be on its way, comes too late. An earlier remove may
// have left named volumes: a debt that is to take them too removes once more. What was recorded under a higher fence is not
// touched. rt may be nil where nothing is left, or only a remove was recorded.
func (r *Runner) Evict(ctx context.Context, rt Runtime, debt contract.Debt) error {
	rec, err := r.store.Get(debt.Workload)
	if err != nil {
		return err
	}
	if rt == nil || rec.Tombstone() && !debt.Volumes {
		return r.bury(ctx, debt)
	}
	in := contract.StepIn{Last: true, Volumes: debt.Volumes, Ref: contract.Ref{
		Workload: debt.Workload, Kind: rt.Kind(), Generation: rec.Generation, Fence: debt.Fence, Verb: v1.VerbRelocate,
	}}
	if rec.Spec != nil {
		in.Spec = *rec.Spec
	}
	o := r.join(in, contract.StepRemove, rt.Steps()[contract.StepRemove], nil)
	select {
	case <-o.done:
		if contract.ReasonOf(o.err) == v1.ReasonStaleFence {
			return nil
		}
		return o.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// bury leaves a tombstone for a workload of which nothing is here: work of a lower fence may still be on its way. What an
// earlier remove kept is still kept, and stays recorded.
func (r *Runner) bury(ctx context.Context, debt contract.Debt) error {
	unlock, err := r.store.Lock(ctx, debt.Workload, lockWait)
	if err != nil {
		return err
	}
	defer unlock()
	rec, err := r.store.Get(debt.Workload)
	switch {
	case err != nil:
		return err
	case rec.Fence != 0 && !rec.Tombstone():
		return contract.Retryable(v1.ReasonUnavailable, "it is tried again by itself", "a step on %s came before the debt", debt.Workload)
	case rec.Fence >= debt.Fence:
		return nil
	}
	var out contract.StepOut
	if rec.Tombstone() && rec.FinishedOut != nil {
		out = *rec.FinishedOut
	}
	rec.Fence, rec.Wanted, rec.Verb = debt.Fence, record.WantedRemoved, v1.VerbRelocate
	return r.store.Put(rec.Finish(contract.StepRemove, out, time.Now()))
}
