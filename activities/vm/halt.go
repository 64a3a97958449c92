package vm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/activities/step"
)

var _ step.Halter = (*Runtime)(nil)

// pidDir is where libvirt notes the process of each running QEMU of the system.
const pidDir = "/run/libvirt/qemu"

// Halt powers a workload's domain off, and destroys it after the grace.
func (r *Runtime) Halt(ctx context.Context, workload string, grace time.Duration, found func()) error {
	end := time.Now().Add(grace)
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	var asked time.Time
	for first := true; ; first = false {
		d, err := r.domain(ctx, workload)
		if err != nil || d == nil || d.Power == PowerOff {
			return err
		}
		if first {
			found()
		}
		if !time.Now().Before(end) || d.Power == PowerPaused { // a paused guest hears nothing
			return r.driver.Destroy(ctx, d.Name)
		}
		if time.Since(asked) >= askEvery {
			asked = time.Now()
			if err := r.driver.Shutdown(ctx, d.Name); err != nil {
				r.log.Info("the guest could not be asked to power off", "workload", workload, "error", err)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Processes is the QEMU of a workload's domain, by the file in which libvirt keeps its process id.
func (r *Runtime) Processes(_ context.Context, workload string) ([]int, error) {
	data, err := os.ReadFile(filepath.Join(pidDir, r.ids.domain(workload)+".pid"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read QEMU's process id: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return nil, fmt.Errorf("read QEMU's process id: %w", err)
	}
	return []int{pid}, nil
}
