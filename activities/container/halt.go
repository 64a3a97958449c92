package container

import (
	"context"
	"time"

	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

var _ step.Halter = (*Runtime)(nil)

// Halt stops every container of a workload on this host.
func (r *Runtime) Halt(ctx context.Context, workload string, grace time.Duration, found func()) error {
	running, err := r.running(ctx, workload)
	if err != nil || len(running) == 0 {
		return err
	}
	found()
	for _, k := range running {
		if err := gone(r.driver.Stop(ctx, k.ID, grace)); err != nil {
			return err
		}
	}
	if running, err = r.running(ctx, workload); err != nil || len(running) == 0 {
		return err
	}
	return contract.Retryable(v1.ReasonRuntimeUnavailable, "look at the engine", "%s still runs after it was stopped", workload)
}

// Processes are the first processes of a workload's containers.
func (r *Runtime) Processes(ctx context.Context, workload string) ([]int, error) {
	running, err := r.running(ctx, workload)
	var pids []int
	for _, k := range running {
		if k.PID > 0 {
			pids = append(pids, k.PID)
		}
	}
	return pids, err
}

func (r *Runtime) running(ctx context.Context, workload string) (running []Container, err error) {
	all, err := r.find(ctx, workload)
	for _, k := range all {
		if k.Runs() {
			running = append(running, k)
		}
	}
	return running, err
}
