package container

import (
	"context"
	"fmt"
	"time"

	"github.com/berth-dev/berth/activities/inventory"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

var _ inventory.Source = (*Runtime)(nil)

// Kinds are the kinds of things that a container engine holds.
func (r *Runtime) Kinds() []contract.ThingKind {
	return []contract.ThingKind{contract.ThingContainer, contract.ThingNetwork, contract.ThingVolume}
}

// Inventory lists everything of a kind that carries this host's labels.
func (r *Runtime) Inventory(ctx context.Context, kind contract.ThingKind) ([]contract.Thing, error) {
	return r.things(ctx, kind, r.hostLabels())
}

func (r *Runtime) things(ctx context.Context, kind contract.ThingKind, labels map[string]string) ([]contract.Thing, error) {
	objects, err := r.driver.List(ctx, kind, labels)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	all := make([]contract.Thing, 0, len(objects))
	for _, o := range objects {
		all = append(all, r.thing(kind, o, now))
	}
	return all, nil
}

// thing reads an object's marks. What has another name than Berth gives is odd: see named.
func (r *Runtime) thing(kind contract.ThingKind, o Object, now time.Time) contract.Thing {
	t := contract.Thing{
		Kind: kind, Name: o.Name, ID: o.ID, Workload: o.Labels[LabelWorkload],
		Generation: number(o.Labels[LabelGeneration]), Fence: number(o.Labels[LabelFence]),
	}
	if !o.CreatedAt.IsZero() {
		t.Age, t.Known = max(0, now.Sub(o.CreatedAt)), true
	}
	if v1.ValidateName(t.Workload) != nil || !r.named(kind, t.Name, t.Workload) {
		t.Odd = "it carries Berth's labels, but not the name that Berth gives"
	}
	return t
}

// Discard removes a container, a network or a volume that belongs to nobody.
func (r *Runtime) Discard(ctx context.Context, c *step.Call, o contract.Orphan) (string, error) {
	now, found, err := r.again(ctx, o.Thing)
	if err != nil || !found {
		return "", err
	}
	if why := o.Differs(now); why != "" {
		return why, nil
	}
	switch o.Thing.Kind {
	case contract.ThingContainer:
		k, err := r.driver.Inspect(ctx, o.Thing.ID)
		if err != nil {
			return "", gone(err)
		}
		_, err = r.discard(ctx, c, contract.StepRemove, []Container{k})
		return "", err
	case contract.ThingVolume:
		return "", c.Mutate(ctx, "container.volume.remove", func(ctx context.Context) error {
			return r.driver.RemoveVolume(ctx, o.Thing.Name)
		})
	case contract.ThingNetwork:
		return "", c.Mutate(ctx, "container.network.remove", func(ctx context.Context) error {
			return r.driver.RemoveNetwork(ctx, o.Thing.ID)
		})
	default:
		return "", fmt.Errorf("a container engine has no things of kind %q", o.Thing.Kind)
	}
}

// again looks at a thing once more.
func (r *Runtime) again(ctx context.Context, t contract.Thing) (contract.Thing, bool, error) {
	things, err := r.things(ctx, t.Kind, r.workloadLabels(t.Workload))
	if err != nil {
		return contract.Thing{}, false, err
	}
	for _, now := range things {
		if now.Name == t.Name && now.ID == t.ID {
			return now, true, nil
		}
	}
	return contract.Thing{}, false, nil
}
