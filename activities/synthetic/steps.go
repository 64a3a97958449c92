package synthetic

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// taking lets a step take its time, and fail as often as it should.
func (r *Runtime) taking(name contract.Step, do step.Func) step.Func {
	return func(ctx context.Context, c *step.Call) (contract.StepOut, error) {
		if err := r.pause(ctx, c, name); err != nil {
			return contract.StepOut{}, err
		}
		if rand.Float64() < r.cfg.Failures[name] { //nolint:gosec // a chance, not a secret
			return contract.StepOut{}, contract.Retryable(v1.ReasonRuntimeUnavailable, "it is tried again by itself",
				"%s of %s fails, as this synthetic host was asked to", name, c.In.Ref.Workload)
		}
		return do(ctx, c)
	}
}

func (r *Runtime) pause(ctx context.Context, c *step.Call, name contract.Step) error {
	delay := r.cfg.Delays[name]
	if delay <= 0 {
		return nil
	}
	c.Progress(v1.Progress{Step: contract.ActivityName(r.kind, name), Unit: "ms", Total: delay.Milliseconds()})
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *Runtime) nothing(context.Context, *step.Call) (contract.StepOut, error) {
	return contract.StepOut{}, nil
}

// create makes what start starts, unless it is there.
func (r *Runtime) create(ctx context.Context, c *step.Call) (contract.StepOut, error) {
	g := r.get(c.In.Ref.Workload)
	found := ""
	if !g.fits(c.In.Ref) {
		if g != nil {
			found = "replaced " + g.id + " of generation " + strconv.FormatInt(g.generation, 10)
		}
		if err := c.Mutate(ctx, r.mutation("create"), func(context.Context) error {
			r.define(c.In.Ref, c.In.Spec)
			return nil
		}); err != nil {
			return contract.StepOut{}, err
		}
		g = r.get(c.In.Ref.Workload)
	}
	return contract.StepOut{RuntimeID: g.id, Found: found}, nil
}

// start makes sure that the wanted generation and attempt runs. An attempt of a job is started at most once.
func (r *Runtime) start(ctx context.Context, c *step.Call) (contract.StepOut, error) {
	ref, job := c.In.Ref, isJob(c.In.Spec)
	launched := record.Launch{Generation: ref.Generation, Attempt: ref.Attempt, Fence: ref.Fence}
	before := c.Record.Launched
	again := before.Fence != 0 && before.Generation == ref.Generation && before.Attempt == ref.Attempt
	g := r.get(ref.Workload)
	if job && again {
		return endedAttempt(g, ref), nil
	}
	out, err := r.create(ctx, c)
	if err != nil {
		return out, err
	}
	if g = r.get(ref.Workload); g.running {
		if ref.Verb != v1.VerbRestart || before.Fence == ref.Fence {
			out.StartedAt, out.Found = g.startedAt, "kept what runs"
			return out, nil
		}
		if err := c.Mutate(ctx, r.mutation("stop"), func(context.Context) error { r.quit(ref.Workload); return nil }); err != nil {
			return out, err
		}
	}
	if job || ref.Verb == v1.VerbRestart {
		if err := c.Save(func(rec *record.Record) { rec.Launched = launched }); err != nil {
			return out, err
		}
	}
	if err := c.Mutate(ctx, r.mutation("start"), func(context.Context) error { r.launch(ref.Workload); return nil }); err != nil {
		return out, err
	}
	if g = r.get(ref.Workload); g != nil {
		out.StartedAt = g.startedAt
	}
	return out, nil
}

// endedAttempt says where an attempt stands that was started before.
func endedAttempt(g *guest, ref contract.Ref) contract.StepOut {
	if !g.fits(ref) {
		return contract.StepOut{Exit: &contract.Exit{
			Code: -1, Outcome: v1.ReasonUnknown, At: time.Now(), Message: "the attempt was started, and is gone",
		}}
	}
	return contract.StepOut{RuntimeID: g.id, StartedAt: g.startedAt, Exit: g.exit}
}

func (r *Runtime) awaitReady(_ context.Context, c *step.Call) (contract.StepOut, error) {
	g := r.get(c.In.Ref.Workload)
	switch {
	case !g.fits(c.In.Ref):
		return contract.StepOut{}, contract.Retryable(v1.ReasonNotFound, "it is made again", "%s is gone from host %s", c.In.Ref.Workload, r.host)
	case !g.running && !g.job:
		return contract.StepOut{}, contract.Retryable(v1.ReasonExited, "look at its log", "%s exited", c.In.Ref.Workload)
	}
	return contract.StepOut{RuntimeID: g.id, StartedAt: g.startedAt, Exit: g.exit}, nil
}

func (r *Runtime) stop(ctx context.Context, c *step.Call) (contract.StepOut, error) {
	g := r.get(c.In.Ref.Workload)
	if g == nil || !g.running {
		return contract.StepOut{Found: "nothing ran"}, nil
	}
	out := contract.StepOut{RuntimeID: g.id, Found: "stopped it"}
	return out, c.Mutate(ctx, r.mutation("stop"), func(context.Context) error { r.quit(c.In.Ref.Workload); return nil })
}

func (r *Runtime) remove(ctx context.Context, c *step.Call) (contract.StepOut, error) {
	out := contract.StepOut{Found: "nothing was left"}
	if g := r.get(c.In.Ref.Workload); g != nil {
		out.Found = "removed it"
		if err := c.Mutate(ctx, r.mutation("remove"), func(context.Context) error { r.drop(c.In.Ref.Workload); return nil }); err != nil {
			return out, err
		}
	}
	if c.Record.Launched == (record.Launch{}) {
		return out, nil
	}
	// A later workload of this name counts its attempts from one again.
	return out, c.Save(func(rec *record.Record) { rec.Launched = record.Launch{} })
}

// acknowledge lets an ended attempt go.
func (r *Runtime) acknowledge(ctx context.Context, c *step.Call) (contract.StepOut, error) {
	g := r.get(c.In.Ref.Workload)
	switch {
	case g == nil || g.attempt != c.In.Ref.Attempt:
		return contract.StepOut{Found: "nothing was left"}, nil
	case g.running:
		return contract.StepOut{}, contract.Permanent(v1.ReasonInternal, "report this", "attempt %d of %s still runs", g.attempt, c.In.Ref.Workload)
	}
	return contract.StepOut{Found: "removed the attempt"}, c.Mutate(ctx, r.mutation("remove"), func(context.Context) error {
		r.drop(c.In.Ref.Workload)
		return nil
	})
}

// mutation names a mutation as the real runtimes do, for failpoints: "container.start".
func (r *Runtime) mutation(what string) string { return r.prefix() + "." + what }

// prefix is what the kind's activities and mutations begin with: "container" or "vm".
func (r *Runtime) prefix() string {
	prefix, _, _ := strings.Cut(contract.ActivityName(r.kind, ""), ".")
	return prefix
}

func isJob(w v1.Workload) bool {
	c := w.Spec()
	return c != nil && c.Type == v1.TypeJob
}
