package container

import (
	"context"
	"errors"
	"time"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// start makes sure that one container of the wanted generation and attempt runs, and no other of the workload. It keeps
// what fits. A restart stops the container and starts the same one again, so that it keeps what it wrote.
//
// A job's attempt is started at most once: if its container has ended, or is gone though it was started, the result says
// how it ended. The entity numbers the attempts of a generation without repeating a number.
func (r *Runtime) start(ctx context.Context, c *step.Call) (contract.StepOut, error) {
	spec, err := specOf(c.In.Spec)
	if err != nil {
		return contract.StepOut{}, err
	}
	g, err := r.policy.check(spec)
	if err != nil {
		return contract.StepOut{}, err
	}
	out, err := r.reconcile(ctx, c, spec, g)
	if errors.Is(err, ErrNameTaken) {
		// A create whose answer was lost may have come through after the first look.
		out, err = r.reconcile(ctx, c, spec, g)
	}
	return out, redactError(err, spec)
}

func (r *Runtime) reconcile(ctx context.Context, c *step.Call, spec *v1.ContainerSpec, g grants) (contract.StepOut, error) {
	all, err := r.find(ctx, c.In.Ref.Workload)
	if err != nil {
		return contract.StepOut{}, err
	}
	keep, old := choose(all, c.In.Ref, spec)
	if keep == nil && isJob(spec) && wasLaunched(c) {
		return contract.StepOut{Exit: &contract.Exit{
			Code: -1, Outcome: v1.ReasonUnknown, At: time.Now(),
			Message: "the attempt was started, and its container is gone",
		}}, nil
	}
	found, err := r.discard(ctx, c, contract.StepStart, old)
	if err != nil {
		return contract.StepOut{}, err
	}
	if found != "" {
		found = "replaced " + found
	}
	if keep == nil {
		return r.create(ctx, c, spec, g, found)
	}
	out, err := r.keep(ctx, c, spec, *keep)
	if errors.Is(err, ErrStuck) && !isJob(spec) {
		if err := r.removeOne(ctx, c, *keep); err != nil {
			return contract.StepOut{}, err
		}
		return r.create(ctx, c, spec, g, "replaced the container "+short(keep.ID)+", which could not be started again")
	}
	if err == nil && c.In.Anew(fenceOf(*keep)) { // an earlier attempt made it, and its volumes
		_, out.Made, err = r.mounts(ctx, c, spec, g)
	}
	return out, err
}

// keep goes on with a container that fits.
func (r *Runtime) keep(ctx context.Context, c *step.Call, spec *v1.ContainerSpec, k Container) (contract.StepOut, error) {
	again := c.In.Ref.Verb == v1.VerbRestart && c.Record.Launched.Fence != c.In.Ref.Fence
	switch {
	case isJob(spec) && k.Status == StatusExited && !k.StartedAt.IsZero():
		return r.describe(ctx, c, spec, k, "the attempt had ended")
	case k.Status == StatusRunning && (!again || isJob(spec)):
		return r.describe(ctx, c, spec, k, "kept the running container "+short(k.ID))
	}
	found := "started the stopped container " + short(k.ID)
	if k.Runs() {
		found = "restarted the container " + short(k.ID)
		if err := r.stopOne(ctx, c, contract.StepStart, k); err != nil {
			return contract.StepOut{}, err
		}
	}
	if err := r.policy.stands(k); err != nil {
		return contract.StepOut{}, err
	}
	leave, err := r.claimDevices(ctx, c.In.Ref.Workload, k.Devices, Container.Runs)
	if err != nil {
		return contract.StepOut{}, err
	}
	defer leave()
	return r.launch(ctx, c, spec, k.ID, found)
}

func (r *Runtime) create(ctx context.Context, c *step.Call, spec *v1.ContainerSpec, g grants, found string) (contract.StepOut, error) {
	ref := c.In.Ref
	leave, err := r.claimDevices(ctx, ref.Workload, devicePaths(g.devices), exists)
	if err != nil {
		return contract.StepOut{}, err
	}
	defer leave()
	mounts, made, err := r.mounts(ctx, c, spec, g)
	if err != nil {
		return contract.StepOut{}, err
	}
	var id string
	err = c.Mutate(ctx, "container.create", func(ctx context.Context) error {
		id, err = r.driver.Create(ctx, Create{
			Name: r.name(ref.Workload), Labels: r.containerLabels(ref, spec), Spec: spec, Mounts: mounts, Devices: g.devices,
		})
		return err
	})
	if contract.ReasonOf(err) == v1.ReasonNotFound {
		return contract.StepOut{}, contract.Retryable(v1.ReasonImageNotFound, "it is fetched again with the next try",
			"the image %s is gone from host %s", spec.Image, r.cfg.Host).WithCause(err)
	}
	if err != nil {
		return contract.StepOut{}, err
	}
	out, err := r.launch(ctx, c, spec, id, found)
	out.Made = made
	return out, err
}

// launch starts a container. What must not be started twice is written down first.
func (r *Runtime) launch(ctx context.Context, c *step.Call, spec *v1.ContainerSpec, id, found string) (contract.StepOut, error) {
	ref := c.In.Ref
	if isJob(spec) || ref.Verb == v1.VerbRestart {
		launch := record.Launch{Generation: ref.Generation, Attempt: ref.Attempt, Fence: ref.Fence}
		if err := c.Save(func(rec *record.Record) { rec.Launched = launch }); err != nil {
			return contract.StepOut{}, err
		}
	}
	err := c.Mutate(ctx, "container.start", func(ctx context.Context) error { return r.driver.Start(ctx, id) })
	if err != nil {
		if dropping := r.dropHalfMade(ctx, c, id, err); dropping != nil {
			return contract.StepOut{}, dropping // the next try meets the first error again
		}
		return contract.StepOut{}, err
	}
	now, err := r.driver.Inspect(ctx, id)
	if err != nil {
		return contract.StepOut{}, err
	}
	if out, err := r.describe(ctx, c, spec, now, found); err == nil {
		return out, nil
	}
	// It has been started, and has ended already: it is started again by its policy, and counted, as it would be had it ended
	// a moment later.
	return contract.StepOut{RuntimeID: now.ID, StartedAt: now.StartedAt, Found: found + "; it has ended since"}, nil
}

// dropHalfMade removes a container that never ran and that can't as it is: it holds the name, and on some engines the
// ports.
func (r *Runtime) dropHalfMade(ctx context.Context, c *step.Call, id string, why error) error {
	var e *contract.Error
	if !errors.As(why, &e) || (e.Reason != v1.ReasonPortConflict && !e.Permanent) {
		return nil
	}
	k, err := r.driver.Inspect(ctx, id)
	if err != nil || !k.StartedAt.IsZero() {
		return nil // the failure to start is what counts; the next step looks again
	}
	if isJob(c.In.Spec.Container) { // it did not start, so that a later try is not a second one
		if err := c.Save(func(rec *record.Record) { rec.Launched = record.Launch{} }); err != nil {
			return err
		}
	}
	return r.removeOne(ctx, c, k)
}

// describe is a step's result, and the verdict on a container that has already ended.
func (r *Runtime) describe(ctx context.Context, c *step.Call, spec *v1.ContainerSpec, k Container, found string) (contract.StepOut, error) {
	out := contract.StepOut{RuntimeID: k.ID, StartedAt: k.StartedAt, Addresses: k.Addresses, Ports: k.Ports, Found: found}
	if k.Runs() {
		return out, nil
	}
	exit := r.exitOf(ctx, k, spec)
	if isJob(spec) || !contract.RestartsAfter(spec.Restart, *exit, 0) {
		out.Exit = exit
		return out, nil
	}
	return out, exitError(c.In.Ref.Workload, exit)
}

// wasLaunched reports whether this attempt was about to be started before.
func wasLaunched(c *step.Call) bool {
	l := c.Record.Launched
	return l.Fence != 0 && l.Generation == c.In.Ref.Generation && l.Attempt == c.In.Ref.Attempt
}
