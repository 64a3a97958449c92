package container

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// stop stops what runs of the workload. Containers are kept, so that a start is fast and finds what they wrote.
func (r *Runtime) stop(ctx context.Context, c *step.Call) (contract.StepOut, error) {
	all, err := r.find(ctx, c.In.Ref.Workload)
	if err != nil {
		return contract.StepOut{}, err
	}
	out := contract.StepOut{Found: "nothing ran"}
	for _, k := range all {
		if !k.Runs() {
			continue
		}
		if err := r.stopOne(ctx, c, contract.StepStop, k); err != nil {
			return out, err
		}
		out.RuntimeID, out.Found = k.ID, "stopped the container "+short(k.ID)
	}
	return out, nil
}

// remove removes the workload's containers, with their unnamed volumes. Named volumes hold what a user may want back: they
// stay, and are told of, unless they are to go too. Binds are the user's.
func (r *Runtime) remove(ctx context.Context, c *step.Call) (contract.StepOut, error) {
	all, err := r.find(ctx, c.In.Ref.Workload)
	if err != nil {
		return contract.StepOut{}, err
	}
	found, err := r.discard(ctx, c, contract.StepRemove, all)
	if err != nil {
		return contract.StepOut{}, err
	}
	if err := dropLog(c); err != nil {
		return contract.StepOut{}, err
	}
	if found != "" {
		found = "removed " + found
	}
	volumes, err := r.leave(ctx, c)
	if err != nil {
		return contract.StepOut{}, err
	}
	out := contract.StepOut{Found: found, Kept: append(volumes, contract.Brought(c.In.Spec)...)}
	// A later workload of this name counts its attempts from one again.
	return out, c.Save(func(rec *record.Record) { rec.Launched = record.Launch{} })
}

// leave returns the named volumes that stay, after it has removed those that are to go.
func (r *Runtime) leave(ctx context.Context, c *step.Call) ([]string, error) {
	names, err := r.driver.FindVolumes(ctx, r.workloadLabels(c.In.Ref.Workload))
	names = slices.DeleteFunc(names, func(name string) bool { return !r.named(contract.ThingVolume, name, c.In.Ref.Workload) })
	if err != nil || !c.In.Volumes {
		slices.Sort(names)
		return names, err
	}
	for _, name := range names {
		err := c.Mutate(ctx, "container.volume.remove", func(ctx context.Context) error { return r.driver.RemoveVolume(ctx, name) })
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// acknowledge removes the ended container of a job's attempt.
func (r *Runtime) acknowledge(ctx context.Context, c *step.Call) (contract.StepOut, error) {
	all, err := r.find(ctx, c.In.Ref.Workload)
	if err != nil {
		return contract.StepOut{}, err
	}
	out := contract.StepOut{Found: "nothing was left"}
	for _, k := range all {
		if !isOf(k, c.In.Ref.Generation, c.In.Ref.Attempt) {
			continue
		}
		if k.Runs() {
			return out, contract.Permanent(v1.ReasonInternal, "report this", "attempt %d of %s still runs", c.In.Ref.Attempt, c.In.Ref.Workload)
		}
		if err := r.keepLog(ctx, c, k); err != nil {
			return out, err
		}
		if err := r.removeOne(ctx, c, k); err != nil {
			return out, err
		}
		out.Found = "removed the container " + short(k.ID)
	}
	return out, nil
}

// discard stops and removes containers, and says which.
func (r *Runtime) discard(ctx context.Context, c *step.Call, during contract.Step, old []Container) (found string, err error) {
	for _, k := range old {
		if k.Runs() {
			if err := r.stopOne(ctx, c, during, k); err != nil {
				return found, err
			}
		}
		if err := r.removeOne(ctx, c, k); err != nil {
			return found, err
		}
		found = fmt.Sprintf("the container %s of generation %s", short(k.ID), k.Labels[LabelGeneration])
	}
	return found, nil
}

// stopOne gives the container the time that it was made with.
func (r *Runtime) stopOne(ctx context.Context, c *step.Call, during contract.Step, k Container) error {
	grace := k.StopGrace
	if grace <= 0 {
		grace = defaultGrace
	}
	defer elapsed(c, progress(during, "stopping "+short(k.ID)), grace)()
	return gone(c.Mutate(ctx, "container.stop", func(ctx context.Context) error { return r.driver.Stop(ctx, k.ID, grace) }))
}

func (r *Runtime) removeOne(ctx context.Context, c *step.Call, k Container) error {
	return gone(c.Mutate(ctx, "container.remove", func(ctx context.Context) error { return r.driver.Remove(ctx, k.ID) }))
}

// gone takes a container that does not exist for one that was ended.
func gone(err error) error {
	if contract.ReasonOf(err) == v1.ReasonNotFound {
		return nil
	}
	return err
}

// elapsed reports the time that something takes until the returned function is called.
func elapsed(c *step.Call, p v1.Progress, total time.Duration) (stop func()) {
	begin := time.Now()
	p.Unit, p.Total = "ms", total.Milliseconds()
	c.Progress(p)
	ticker, done, over := time.NewTicker(time.Second), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				p.Done = time.Since(begin).Milliseconds()
				c.Progress(p)
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-over }
}
