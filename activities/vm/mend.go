package vm

import (
	"context"

	"github.com/berth-dev/berth/activities/step"
)

var _ step.Mender = (*Runtime)(nil)

// Mend defines a domain again that was undefined while it runs, as it runs: else nothing would be left of it once it ends, and
// it could not be started again.
func (r *Runtime) Mend(ctx context.Context, c *step.Call) (done string, err error) {
	d, err := r.domain(ctx, c.In.Ref.Workload)
	if err != nil || d == nil || !d.Transient || d.mark.Fence > c.Record.Fence {
		return "", err
	}
	err = c.Mutate(ctx, "vm.define", func(ctx context.Context) error { return r.driver.Define(ctx, d.Name, d.XML) })
	return "its domain was undefined while it ran; its host has defined it again", err
}
