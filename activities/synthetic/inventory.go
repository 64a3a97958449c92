package synthetic

import (
	"context"
	"time"

	"github.com/berth-dev/berth/activities/inventory"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

var _ inventory.Source = (*Runtime)(nil)

// Kinds is what the kind's workloads run as.
func (r *Runtime) Kinds() []contract.ThingKind {
	if r.kind == v1.KindVM {
		return []contract.ThingKind{contract.ThingDomain}
	}
	return []contract.ThingKind{contract.ThingContainer}
}

// Inventory lists the guests.
func (r *Runtime) Inventory(_ context.Context, kind contract.ThingKind) ([]contract.Thing, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]contract.Thing, 0, len(r.guests))
	for name, g := range r.guests {
		all = append(all, g.thing(kind, name))
	}
	return all, nil
}

func (g *guest) thing(kind contract.ThingKind, workload string) contract.Thing {
	return contract.Thing{
		Kind: kind, Name: workload, ID: g.id, Workload: workload, Generation: g.generation, Fence: g.fence,
		Age: max(0, time.Since(g.madeAt)), Known: true,
	}
}

// Discard removes a guest that belongs to nobody.
func (r *Runtime) Discard(ctx context.Context, c *step.Call, o contract.Orphan) (string, error) {
	g := r.get(o.Thing.Workload)
	if g == nil {
		return "", nil
	}
	if why := o.Differs(g.thing(o.Thing.Kind, o.Thing.Workload)); why != "" {
		return why, nil
	}
	return "", c.Mutate(ctx, r.mutation("remove"), func(context.Context) error { r.drop(o.Thing.Workload); return nil })
}
