package strict

import (
	"context"
	"sync"
	"time"

	"github.com/berth-dev/berth/activities/deadline"
)

const (
	// lookEvery is how often the clock is looked at: timers do not count the time in which the machine slept.
	lookEvery = 250 * time.Millisecond
	// haltAgain is the pause before an ended workload is looked at again, as long as the lease is not renewed: a start that
	// was under way in the runtime may come through late.
	haltAgain = 2 * time.Second
)

// Run ends strict workloads when the lease has ended, and says when they may be started again, until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var halting sync.WaitGroup
	defer halting.Wait()
	ready := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, r := range k.overdue() {
			halting.Go(func() { k.halt(ctx, r) })
		}
		was := ready
		if ready = k.any() && k.ready(); ready && !was {
			k.tellReady()
		}
	}
}

// overdue are the workloads to end now.
func (k *Keeper) overdue() (due []deadline.Runtime) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.file.Runtimes) == 0 || deadline.Now() < k.file.Deadline {
		return nil
	}
	if !k.file.Stopping {
		k.Log.Warn("the lease has ended: strict workloads are stopped")
		if err := k.update(func(f *deadline.File) { f.Stopping = true }); err != nil {
			k.Log.Warn("the guard can't be told that strict workloads are being stopped", "error", err)
		}
	}
	for _, r := range k.file.Runtimes {
		if !k.halting[r.Workload] {
			k.halting[r.Workload] = true
			due = append(due, r)
		}
	}
	return due
}

// halt ends one workload, and keeps others from doing so for a moment longer.
func (k *Keeper) halt(ctx context.Context, r deadline.Runtime) {
	k.mu.Lock()
	grace := Remaining(k.file.Deadline, r, deadline.Now())
	k.mu.Unlock()
	err := End(ctx, k.halters[r.Kind], r, grace, func() {
		k.Log.Warn("stopping a strict workload", "workload", r.Workload, "grace", grace)
		if err := k.Dir.NoteStopped(r.Workload); err != nil {
			k.Log.Warn("a strict workload's stop can't be noted", "workload", r.Workload, "error", err)
		}
	})
	if err != nil {
		k.Log.Error("a strict workload can't be stopped; it is tried again", "workload", r.Workload, "error", err)
	} else {
		k.noteStopped(r.Workload)
	}
	select {
	case <-ctx.Done():
	case <-time.After(haltAgain):
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.halting, r.Workload)
}

// noteStopped tells the guard that a workload is stopped, unless a step may be starting it.
func (k *Keeper) noteStopped(workload string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known := entry(&k.file, workload)
	if known == nil || known.Stopped || k.starting[workload] > 0 || deadline.Now() < k.file.Deadline {
		return
	}
	k.Log.Info("a strict workload is stopped until the lease is renewed", "workload", workload)
	if err := k.update(func(f *deadline.File) { entry(f, workload).Stopped = true }); err != nil {
		k.Log.Warn("the guard can't be told that a strict workload is stopped", "workload", workload, "error", err)
	}
}

// any reports whether there is anything strict: most hosts have nothing, and need not look for their guard.
func (k *Keeper) any() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.file.Runtimes) > 0
}

func (k *Keeper) ready() bool {
	guarded := k.Guarded()
	k.mu.Lock()
	defer k.mu.Unlock()
	return guarded && k.live()
}

func (k *Keeper) tellReady() {
	k.mu.Lock()
	all := k.file.Runtimes
	k.mu.Unlock()
	for _, r := range all {
		k.Ready(r.Workload)
	}
}
