package strict

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-dev/berth/activities/deadline"
	"github.com/berth-dev/berth/activities/step"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// runtimeLimit is how long the runtime may take beyond the grace, and killLimit the kernel for a process. Together they
	// stay below contract.StrictKillLimit.
	runtimeLimit = 6 * time.Second
	killLimit    = 2 * time.Second
)

// Remaining is what is left of a workload's grace: agent and guard both count it from the end of the lease, so that it is over
// at the same time whoever stops it.
func Remaining(lease time.Duration, r deadline.Runtime, now time.Duration) time.Duration {
	return max(0, min(r.Grace, lease+contract.StrictMargin+r.Grace-now))
}

// End ends a workload by its runtime, or by its processes if the runtime does not. It calls found before it stops anything,
// and returns nil only if nothing of the workload is known to run.
func End(ctx context.Context, h step.Halter, r deadline.Runtime, grace time.Duration, found func()) error {
	err := errors.New("there is no runtime for its kind")
	if h != nil {
		hctx, cancel := context.WithTimeout(ctx, grace+runtimeLimit)
		err = h.Halt(hctx, r.Workload, grace, found)
		cancel()
	}
	if err == nil || len(r.Processes) == 0 || ctx.Err() != nil {
		return err
	}
	for _, p := range r.Processes {
		if !p.Runs() {
			continue
		}
		found()
		if killing := p.Kill(killLimit); killing != nil {
			return errors.Join(fmt.Errorf("by the runtime: %w", err), killing)
		}
	}
	return nil
}
