package vm

import (
	"context"
	"path/filepath"
	"time"

	"github.com/berth-dev/berth/activities/failpoint"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// start boots the domain. For a restart it first stops the one that runs, unless it was this very action that booted it.
func (r *Runtime) start(ctx context.Context, c *step.Call) (contract.StepOut, error) {
	vm, err := spec(c)
	if err != nil {
		return contract.StepOut{}, err
	}
	d, err := r.existing(ctx, c.In.Ref.Workload)
	if err != nil {
		return contract.StepOut{}, err
	}
	s, err := readState(c.Dir)
	if err != nil {
		return contract.StepOut{}, err
	}
	if exit := endedAttempt(c, s.Boot, d.Domain); exit != nil {
		return contract.StepOut{RuntimeID: d.UUID, StartedAt: s.Boot.At, Exit: exit}, nil
	}
	power := d.Power
	if c.In.Ref.Verb == v1.VerbRestart && power != PowerOff && !s.Boot.of(c.In.Ref) {
		if err := r.powerOff(ctx, c, contract.StepStart, gracePeriod(c)); err != nil {
			return contract.StepOut{}, err
		}
		power = PowerOff
	}
	if err := r.giveAddresses(ctx, c, &s, vm); err != nil {
		return contract.StepOut{}, err
	}
	if power == PowerOff {
		return r.boot(ctx, c, d.UUID, &s)
	}
	out := contract.StepOut{RuntimeID: d.UUID, StartedAt: s.Boot.At, Found: "it runs already"}
	if power == PowerPaused {
		out.Found = "it was paused"
		err := c.Mutate(ctx, "vm.resume", func(ctx context.Context) error { return r.driver.Start(ctx, d.Name) })
		if err != nil {
			return contract.StepOut{}, err
		}
	}
	if !s.Boot.of(c.In.Ref) {
		s.Boot.Fence, s.Boot.Attempt, s.Boot.Since = c.In.Ref.Fence, c.In.Ref.Attempt, time.Now()
	}
	s.Boot.Done = true
	return out, s.write(c.Dir)
}

// endedAttempt says how a job's attempt ended that was started before and is over. A fresh domain was never started.
func endedAttempt(c *step.Call, b boot, d Domain) *contract.Exit {
	if c.In.Ref.Attempt == 0 || !b.of(c.In.Ref) || d.Power != PowerOff || d.Ending == EndingFailed ||
		!b.Done && d.Ending == EndingUnknown {
		return nil
	}
	return exitOf(d)
}

// boot starts a domain that does not run, and remembers where its console begins.
func (r *Runtime) boot(ctx context.Context, c *step.Call, uuid string, s *state) (contract.StepOut, error) {
	now := time.Now()
	err := c.Mutate(ctx, "vm.boot", func(ctx context.Context) error {
		s.Boot = boot{
			Fence: c.In.Ref.Fence, Attempt: c.In.Ref.Attempt, At: now, Since: now,
			Console: consoleEnd(filepath.Join(c.Dir, consoleFile)),
		}
		if err := s.write(c.Dir); err != nil {
			return err
		}
		failpoint.Hit("vm.boot.noted", c.In.Ref.Workload)
		return r.driver.Start(ctx, r.ids.domain(c.In.Ref.Workload))
	})
	if err != nil {
		return contract.StepOut{}, err
	}
	s.Boot.Done = true
	return contract.StepOut{RuntimeID: uuid, StartedAt: now}, s.write(c.Dir)
}

// Restart boots a domain that ended by itself.
func (r *Runtime) Restart(ctx context.Context, c *step.Call) error {
	d, err := r.existing(ctx, c.In.Ref.Workload)
	if err != nil || d.Power != PowerOff {
		return err
	}
	s, err := readState(c.Dir)
	if err != nil {
		return err
	}
	_, err = r.boot(ctx, c, d.UUID, &s)
	return err
}
