package container

import (
	"context"
	"time"

	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// lookEvery is how often a container is looked at while events say nothing.
	lookEvery = 5 * time.Second
	// reconnectAfter is how long a broken stream of events is left alone.
	reconnectAfter = time.Second
)

// awaitReady waits until the container's health check is content; without one, until it runs. The time counts from the
// container's start, so that a retry does not prolong it.
func (r *Runtime) awaitReady(ctx context.Context, c *step.Call) (contract.StepOut, error) {
	spec, err := specOf(c.In.Spec)
	if err != nil {
		return contract.StepOut{}, err
	}
	out, ready, err := r.look(ctx, c, spec)
	if ready || err != nil {
		return out, redactError(err, spec)
	}
	timeout := defaultReadyTimeout
	if h := spec.HealthCheck; h != nil && h.ReadyTimeout > 0 {
		timeout = h.ReadyTimeout.D()
	}
	defer elapsed(c, progress(contract.StepAwaitReady, "waiting until it is healthy"), timeout)()
	deadline := time.NewTimer(time.Until(out.StartedAt.Add(timeout)))
	defer deadline.Stop()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := r.changes(ctx, c.In.Ref.Workload)
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-changed:
		case <-ticker.C:
		case <-ctx.Done():
			return out, context.Cause(ctx)
		case <-deadline.C:
			return out, r.unhealthy(ctx, c, spec, "was not healthy within "+timeout.String())
		}
		if out, ready, err = r.look(ctx, c, spec); ready || err != nil {
			return out, redactError(err, spec)
		}
	}
}

// look reports whether the container is ready. That it is not yet, and may become so, is no error.
func (r *Runtime) look(ctx context.Context, c *step.Call, spec *v1.ContainerSpec) (out contract.StepOut, ready bool, err error) {
	k, err := r.exact(ctx, c.In.Ref.Workload, c.In.Ref.Generation, c.In.Ref.Attempt)
	if err != nil {
		return out, false, err
	}
	out, err = r.describe(ctx, c, spec, k, "")
	if err != nil || out.Exit != nil || isJob(spec) {
		return out, true, err
	}
	switch k.Health {
	case HealthStarting:
		return out, false, nil
	case HealthUnhealthy:
		return out, false, r.unhealthy(ctx, c, spec, "is unhealthy")
	case HealthNone, HealthHealthy:
		return out, true, nil
	default:
		return out, true, nil
	}
}

func (r *Runtime) unhealthy(ctx context.Context, c *step.Call, spec *v1.ContainerSpec, what string) error {
	said := ""
	if k, err := r.exact(ctx, c.In.Ref.Workload, c.In.Ref.Generation, c.In.Ref.Attempt); err == nil {
		if said = bounded(redact(k.HealthOutput, spec)); said == "" {
			said = r.lastWords(ctx, k.ID, spec)
		}
	}
	if said != "" {
		what += ": " + said
	}
	return contract.Retryable(v1.ReasonUnhealthy, "look at its log and its health check", "%s %s", c.In.Ref.Workload, what)
}

// changes tells of changes to a workload's containers until ctx ends.
func (r *Runtime) changes(ctx context.Context, workload string) <-chan struct{} {
	changed := make(chan struct{}, 1)
	nudge := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	go func() {
		for ctx.Err() == nil {
			// The ticker of the caller bridges what is missed between two streams.
			_ = r.driver.Events(ctx, r.workloadLabels(workload), nudge, func(e Event) {
				if !e.Network {
					nudge()
				}
			})
			select {
			case <-ctx.Done():
			case <-time.After(reconnectAfter):
			}
		}
	}()
	return changed
}
