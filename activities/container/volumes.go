package container

import (
	"context"
	"maps"

	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// mounts are the container's mounts. Volumes that do not exist yet are made, and named; those that do are kept, and their data.
func (r *Runtime) mounts(ctx context.Context, c *step.Call, spec *v1.ContainerSpec, g grants) (mounts []Mount, made []string, err error) {
	for _, m := range spec.Volumes {
		mount := Mount{Path: g.paths[m.Bind], Target: m.Target, ReadOnly: m.ReadOnly}
		if m.Name != "" {
			mount.Volume = r.name(c.In.Ref.Workload, m.Name)
			anew, err := r.ensureVolume(ctx, c, mount.Volume, m.Name)
			if err != nil {
				return nil, nil, err
			}
			if anew {
				made = append(made, m.Name)
			}
		}
		mounts = append(mounts, mount)
	}
	return mounts, made, nil
}

func (r *Runtime) ensureVolume(ctx context.Context, c *step.Call, name, short string) (made bool, err error) {
	has, err := r.driver.Volume(ctx, name)
	switch {
	case err == nil && carries(has, r.workloadLabels(c.In.Ref.Workload)):
		return c.In.Anew(number(has[LabelFence])), nil
	case err == nil:
		return false, contract.Permanent(v1.ReasonPolicyDenied, "rename or remove it, and retry",
			"the volume %s on host %s was not made for this workload", name, r.cfg.Host)
	case contract.ReasonOf(err) != v1.ReasonNotFound:
		return false, err
	}
	labels := maps.Clone(r.ownLabels(c.In.Ref))
	labels[LabelVolume] = short
	return true, c.Mutate(ctx, "container.volume.create", func(ctx context.Context) error {
		return r.driver.CreateVolume(ctx, name, labels)
	})
}

func carries(has, want map[string]string) bool {
	for key, value := range want {
		if has[key] != value {
			return false
		}
	}
	return true
}
