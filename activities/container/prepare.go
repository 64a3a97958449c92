package container

import (
	"context"

	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// prepare checks what the spec asks of the host, and gets the image.
func (r *Runtime) prepare(ctx context.Context, c *step.Call) (contract.StepOut, error) {
	var out contract.StepOut
	spec, err := specOf(c.In.Spec)
	if err != nil {
		return out, err
	}
	g, err := r.policy.check(spec)
	if err != nil {
		return out, err
	}
	// Told before an old copy is stopped, and before anything is made here: the next try may go elsewhere.
	if err := r.devicesFree(ctx, c.In.Ref.Workload, devicesAt(devicePaths(g.devices)), exists); err != nil {
		return out, err
	}
	if spec.Pull != v1.PullAlways {
		have, err := r.driver.HasImage(ctx, spec.Image)
		if err != nil {
			return out, err
		}
		if have {
			out.Found = "the image is on the host"
			return out, nil
		}
	}
	if spec.Pull == v1.PullNever {
		return out, contract.Permanent(v1.ReasonImageNotFound, "load it there, or let it be pulled (pull: missing), and retry",
			"host %s has no image %s, and may not pull it", r.cfg.Host, spec.Image)
	}
	if err := r.pulls.get(ctx, spec.Image, c.Progress); err != nil {
		return out, err
	}
	out.Found = "the image was pulled"
	return out, nil
}
