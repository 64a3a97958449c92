package container

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/berth-dev/berth/activities/disk"
	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	defaultTail = 100
	maxTail     = 10_000
	maxLogBytes = 256 << 10
	// keptLog holds the last lines of a job's ended attempt, whose container is gone.
	keptLog = "attempt.log"
)

// Logs returns the last lines of the workload's container, or of a job's last attempt if its container is gone.
func (r *Runtime) Logs(ctx context.Context, rec record.Record, tail int) ([]string, error) {
	if tail <= 0 {
		tail = defaultTail
	}
	tail = min(tail, maxTail)
	k, err := r.current(ctx, rec)
	if err == nil {
		return r.driver.Logs(ctx, k.ID, tail, maxLogBytes)
	}
	if contract.ReasonOf(err) != v1.ReasonNotFound || rec.Attempt == 0 {
		return nil, err
	}
	data, readErr := os.ReadFile(filepath.Join(r.cfg.DataDir, "workloads", rec.Workload, keptLog))
	if readErr != nil {
		return nil, err // nothing was kept: what is true is that there is no container
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	return lines[max(0, len(lines)-tail):], nil
}

// keepLog keeps the last lines of a container that is about to be removed. That it has none to give is no obstacle.
func (r *Runtime) keepLog(ctx context.Context, c *step.Call, k Container) error {
	lines, err := r.driver.Logs(ctx, k.ID, maxTail, maxLogBytes)
	if contract.ReasonOf(err) == v1.ReasonNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if err := disk.WriteFile(filepath.Join(c.Dir, keptLog), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return disk.Classify("keep the log of the attempt", err)
	}
	return nil
}

func dropLog(c *step.Call) error {
	if err := os.Remove(filepath.Join(c.Dir, keptLog)); err != nil && !os.IsNotExist(err) {
		return disk.Classify("remove the kept log", err)
	}
	return nil
}
