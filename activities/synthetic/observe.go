package synthetic

import (
	"context"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Observe looks at one guest. One that was never started, or is of another generation, counts as absent: a deploy finds
// it and goes on.
func (r *Runtime) Observe(_ context.Context, rec record.Record) (contract.Observation, error) {
	o := contract.Observation{Host: r.host, Fence: rec.Fence, Attempt: rec.Attempt, Restarts: rec.Restarts, State: contract.RunAbsent}
	g := r.get(rec.Workload)
	switch {
	case g == nil || g.generation != rec.Generation || g.attempt != rec.Attempt:
	case g.running:
		o.State, o.StartedAt = contract.RunRunning, g.startedAt
	case g.exit != nil:
		o.State, o.StartedAt, o.Exit = contract.RunExited, g.startedAt, g.exit
	}
	return o, nil
}

// Restart starts the guest of the record's generation and attempt again, if it does not run.
func (r *Runtime) Restart(ctx context.Context, c *step.Call) error {
	g := r.get(c.Record.Workload)
	if g == nil || g.generation != c.Record.Generation || g.attempt != c.Record.Attempt {
		return contract.Retryable(v1.ReasonNotFound, "it is made again", "%s is gone from host %s", c.Record.Workload, r.host)
	}
	if g.running {
		return nil
	}
	return c.Mutate(ctx, r.mutation("start"), func(context.Context) error { r.launch(c.Record.Workload); return nil })
}

// Logs returns the last lines that are kept of the guest's life.
func (r *Runtime) Logs(_ context.Context, rec record.Record, tail int) ([]string, error) {
	g := r.get(rec.Workload)
	if g == nil {
		return nil, contract.Retryable(v1.ReasonNotFound, "it is made again", "%s is gone from host %s", rec.Workload, r.host)
	}
	lines := append([]string{}, g.lines...)
	return lines[max(0, len(lines)-tail):], nil
}
