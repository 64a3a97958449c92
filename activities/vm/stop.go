package vm

import (
	"context"
	"time"

	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	defaultGrace = 60 * time.Second
	// askEvery is how often the guest is asked to power off: a request that comes early in its boot is lost.
	askEvery = 3 * time.Second
)

// gracePeriod is how long the guest may take to power off. For a remove or stop without a spec, the record has it.
func gracePeriod(c *step.Call) time.Duration {
	grace := time.Duration(0)
	switch {
	case c.In.Spec.VM != nil:
		grace = c.In.Spec.VM.StopGracePeriod.D()
	case c.Record.Spec != nil && c.Record.Spec.VM != nil:
		grace = c.Record.Spec.VM.StopGracePeriod.D()
	}
	if grace <= 0 {
		return defaultGrace
	}
	return grace
}

func (r *Runtime) stop(ctx context.Context, c *step.Call) (contract.StepOut, error) {
	d, err := r.domain(ctx, c.In.Ref.Workload)
	switch {
	case err != nil:
		return contract.StepOut{}, err
	case d == nil:
		return contract.StepOut{Found: "no domain"}, nil
	case d.Power == PowerOff:
		return contract.StepOut{RuntimeID: d.UUID, Found: "it was off"}, nil
	}
	return contract.StepOut{RuntimeID: d.UUID}, r.powerOff(ctx, c, contract.StepStop, gracePeriod(c))
}

// powerOff asks the guest to power off, again and again, and ends it by force when the grace period is over.
func (r *Runtime) powerOff(ctx context.Context, c *step.Call, s contract.Step, grace time.Duration) error {
	name := r.ids.domain(c.In.Ref.Workload)
	progress := report(c, s)
	begin := time.Now()
	asked := time.Time{}
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		d, err := r.domain(ctx, c.In.Ref.Workload)
		if err != nil {
			return err
		}
		if d == nil || d.Power == PowerOff {
			return nil
		}
		elapsed := time.Since(begin)
		progress(v1.Progress{Detail: "shutting down", Unit: "ms", Done: elapsed.Milliseconds(), Total: grace.Milliseconds()})
		// A guest that stays paused hears nothing.
		if elapsed >= grace || d.Power == PowerPaused && elapsed >= askEvery {
			return c.Mutate(ctx, "vm.destroy", func(ctx context.Context) error { return r.driver.Destroy(ctx, name) })
		}
		if time.Since(asked) >= askEvery {
			asked = time.Now()
			if err := r.ask(ctx, c, name); err != nil {
				return err
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ask asks the guest once. That it cannot be asked is no failure: it is asked again, and then destroyed.
func (r *Runtime) ask(ctx context.Context, c *step.Call, name string) error {
	return c.Mutate(ctx, "vm.shutdown", func(ctx context.Context) error {
		err := r.driver.Shutdown(ctx, name)
		if err != nil && contract.ReasonOf(err) != v1.ReasonRuntimeUnavailable {
			r.log.Info("the guest could not be asked to power off", "workload", c.In.Ref.Workload, "error", err)
			return nil
		}
		return err
	})
}
