package step

import (
	"context"
	"time"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/workflows/contract"
)

// Adopt writes a record that was lost, as it stood after the action of the input's fence. It does nothing if there is one, and
// changes nothing but the record. Once the lock is held, runs says by which id the runtime knows what the record would tell of,
// or why the record can't be true.
func (r *Runner) Adopt(ctx context.Context, in contract.StepIn, runs func(context.Context, record.Record) (id string, err error)) error {
	workload := in.Ref.Workload
	unlock, err := r.store.Lock(ctx, workload, lockWait)
	if err != nil {
		return err
	}
	defer unlock()
	rec, err := r.store.Get(workload)
	if err != nil || rec.Fence != 0 {
		return err
	}
	if err := r.MayAct(); err != nil {
		return err
	}
	rec = rec.Begin(in, contract.StepStart)
	if in.Ref.Attempt > 0 {
		rec.Launched = record.Launch{Generation: in.Ref.Generation, Attempt: in.Ref.Attempt, Fence: in.Ref.Fence}
	}
	id, err := runs(ctx, rec)
	if err != nil {
		return err
	}
	// Without a start in the result all that is seen is told, also if it was before.
	if err := r.store.Put(rec.Finish(contract.StepStart, contract.StepOut{RuntimeID: id}, time.Now())); err != nil {
		return err
	}
	r.Done(workload)
	return nil
}
