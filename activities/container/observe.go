package container

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Restart starts the container of the record's generation and attempt again, if it does not run.
func (r *Runtime) Restart(ctx context.Context, c *step.Call) error {
	rec := c.Record
	k, err := r.exact(ctx, rec.Workload, rec.Generation, rec.Attempt)
	if err != nil {
		return err
	}
	if k.Status == StatusRunning {
		return nil
	}
	if err := r.policy.stands(k); err != nil {
		return err
	}
	leave, err := r.claimDevices(ctx, rec.Workload, k.Devices, Container.Runs)
	if err != nil {
		return err
	}
	defer leave()
	err = c.Mutate(ctx, "container.start", func(ctx context.Context) error { return r.driver.Start(ctx, k.ID) })
	if errors.Is(err, ErrStuck) && time.Since(k.FinishedAt) > stuckAfter {
		// One that is gone is made again by the workload's entity, which has the whole spec.
		err = errors.Join(err, r.removeOne(ctx, c, k))
	}
	return redactError(err, recordedSpec(rec))
}

// stuckAfter is how long an engine may need to let go of a container's last run.
const stuckAfter = 15 * time.Second

// Observe looks at a workload's container.
func (r *Runtime) Observe(ctx context.Context, rec record.Record) (contract.Observation, error) {
	o := contract.Observation{Host: r.cfg.Host, Fence: rec.Fence, Attempt: rec.Attempt, Restarts: rec.Restarts}
	k, err := r.current(ctx, rec)
	if contract.ReasonOf(err) == v1.ReasonNotFound {
		o.State, o.Exact = contract.RunAbsent, true
		r.runs.note(rec.Workload, "")
		return o, nil
	}
	if err != nil {
		o.State = contract.RunUnobservable
		return o, err
	}
	o.StartedAt, o.Addresses, o.Ports, o.Exact = k.StartedAt, k.Addresses, k.Ports, true
	if k.Cut != "" {
		o.Findings = append(o.Findings, contract.Finding{
			Reason: v1.ReasonDisconnected, Message: "it is off its network; on its host: docker network connect " + k.Cut + " " + k.Name,
		})
	}
	r.noteRuns(rec.Workload, k)
	switch k.Status {
	case StatusRunning:
		if o.State = runState(k.Health); o.State == contract.RunUnhealthy {
			o.Message = "its health check fails"
			if said := bounded(redact(k.HealthOutput, recordedSpec(rec))); said != "" {
				o.Message += ": " + said
			}
		}
	case StatusPaused:
		o.State, o.Message = contract.RunUnhealthy, "the container is paused"
	case StatusExited:
		r.outside.await(ctx, k)
		o.State, o.Exit = contract.RunExited, r.exitOf(ctx, k, recordedSpec(rec))
	case StatusCreated, StatusGone: // it never ran: a deploy finds it and goes on
		o.State, o.Message = contract.RunAbsent, bounded(k.Error)
	}
	return o, nil
}

func recordedSpec(rec record.Record) *v1.ContainerSpec {
	if rec.Spec == nil {
		return nil
	}
	return rec.Spec.Container
}

func runState(h Health) contract.RunState {
	switch h {
	case HealthStarting:
		return contract.RunStarting
	case HealthUnhealthy:
		return contract.RunUnhealthy
	case HealthNone, HealthHealthy:
		return contract.RunRunning
	default:
		return contract.RunRunning
	}
}

// Probe asks the engine for its version.
func (r *Runtime) Probe(ctx context.Context) v1.Runtime {
	probe := v1.Runtime{Name: "docker", Kinds: []v1.Kind{v1.KindContainer}}
	version, err := r.driver.Version(ctx)
	if err != nil {
		probe.Message = strings.TrimPrefix(err.Error(), string(contract.ReasonOf(err))+": ")
		return probe
	}
	probe.Version, probe.Ready = version, true
	return probe
}

// Watch tells of changes to this host's containers. It also notes what ends them from outside: see outside.
func (r *Runtime) Watch(ctx context.Context, changed func(workload string)) error {
	err := r.driver.Events(ctx, r.hostLabels(),
		func() { r.outside.back(); changed("") },
		func(e Event) {
			switch {
			case e.Network:
				if name := r.runs.by(e.ID); name != "" {
					changed(name)
				}
				return
			case e.Killed:
				r.outside.killed(e.ID, e.At)
			case e.OutOfMemory && !r.outside.starved(e.ID, e.At):
				return // one of dozens
			}
			// What ended it may be heard of after its end: it is looked at again.
			if name := e.Labels[LabelWorkload]; name != "" {
				changed(name)
			}
		})
	if ctx.Err() == nil {
		r.outside.away()
	}
	return err
}
