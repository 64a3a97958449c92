package vm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/berth-dev/berth/activities/disk"
	"github.com/berth-dev/berth/activities/failpoint"
	"github.com/berth-dev/berth/activities/step"
	"github.com/berth-dev/berth/workflows/contract"
)

// remove stops the guest and removes all that Berth made for it. A disk that the user brought is not touched.
func (r *Runtime) remove(ctx context.Context, c *step.Call) (contract.StepOut, error) {
	d, err := r.domain(ctx, c.In.Ref.Workload)
	if err != nil {
		return contract.StepOut{}, err
	}
	out := contract.StepOut{Found: "no domain"}
	if d != nil {
		out = contract.StepOut{RuntimeID: d.UUID}
		if d.Power != PowerOff {
			if err := r.powerOff(ctx, c, contract.StepRemove, gracePeriod(c)); err != nil {
				return contract.StepOut{}, err
			}
		}
		if err := r.undefine(ctx, c, true); err != nil {
			return contract.StepOut{}, err
		}
	}
	s, err := readState(c.Dir)
	if err != nil {
		return contract.StepOut{}, err
	}
	if err := r.dropAddresses(ctx, c, s.Addresses); err != nil {
		return contract.StepOut{}, err
	}
	out.Kept = contract.Brought(c.In.Spec)
	return out, c.Mutate(ctx, "vm.remove-disks", func(context.Context) error { return r.removeFiles(c) })
}

// removeFiles removes what carries the workload's mark, then what can only be Berth's. The state goes last: it is what a
// retry needs.
func (r *Runtime) removeFiles(c *step.Call) error {
	markers, err := filepath.Glob(disk.MarkerPath(filepath.Join(globEscape(c.Dir), "*")))
	if err != nil {
		return disk.Classify("list the disks", err)
	}
	for _, m := range markers {
		path := strings.TrimSuffix(m, disk.MarkerPath(""))
		if err := disk.RemoveManaged(path, r.owner(c.In.Ref.Workload)); err != nil {
			return err
		}
	}
	if err := disk.CleanTemporaries(c.Dir); err != nil {
		return err
	}
	failpoint.Hit("vm.remove-disks.removed", c.In.Ref.Workload)
	console := filepath.Join(c.Dir, consoleFile)
	rest := []string{console}
	for i := range rotations {
		rest = append(rest, fmt.Sprintf("%s.%d", console, i))
	}
	for _, path := range append(rest, filepath.Join(c.Dir, stateFile)) {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return disk.Classify("remove "+path, err)
		}
	}
	return nil
}

// globEscape makes a directory's name stand for itself in a pattern.
func globEscape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// acknowledge drops the domain of a job's ended attempt; its disks stay for the next one. If a later attempt has taken
// over there is nothing to drop.
func (r *Runtime) acknowledge(ctx context.Context, c *step.Call) (contract.StepOut, error) {
	if c.Record.Attempt != c.In.Ref.Attempt {
		return contract.StepOut{Found: "another attempt"}, nil
	}
	d, err := r.domain(ctx, c.In.Ref.Workload)
	if err != nil || d == nil {
		return contract.StepOut{}, err
	}
	if d.Power != PowerOff {
		err := c.Mutate(ctx, "vm.destroy", func(ctx context.Context) error { return r.driver.Destroy(ctx, d.Name) })
		if err != nil {
			return contract.StepOut{}, err
		}
	}
	return contract.StepOut{}, r.undefine(ctx, c, false)
}
