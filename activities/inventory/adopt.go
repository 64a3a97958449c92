package inventory

import (
	"context"
	"errors"
	"slices"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Marked is the latest fence that a container or domain of a workload is marked with; zero if there is none here.
func (a *Activities) Marked(ctx context.Context, kind v1.Kind, workload string) (fence int64, err error) {
	for _, s := range a.Sources {
		if rt, ok := s.(step.Runtime); !ok || rt.Kind() != kind {
			continue
		}
		things, err := runtimeThings(ctx, s)
		if err != nil {
			return 0, err
		}
		for _, t := range things {
			if t.Workload == workload {
				fence = max(fence, t.Fence)
			}
		}
	}
	return fence, nil
}

// runtimeThings are the containers and domains of a source that workloads run as. Those with copied marks are left out: they are
// a user's. With an error they are those that could be read.
func runtimeThings(ctx context.Context, s Source) ([]contract.Thing, error) {
	var all []contract.Thing
	var unread []error
	for _, kind := range s.Kinds() {
		if kind != contract.ThingContainer && kind != contract.ThingDomain {
			continue
		}
		things, err := s.Inventory(ctx, kind)
		all = append(all, slices.DeleteFunc(things, func(t contract.Thing) bool { return t.Odd != "" })...)
		unread = append(unread, err)
	}
	return all, errors.Join(unread...)
}

// Unrecorded are the things that workloads run as of which the host has no record, though they carry its mark. Of a record that
// can't be read nothing is concluded. With an error they are those that could be read.
func (a *Activities) Unrecorded(ctx context.Context) ([]contract.Thing, error) {
	var all []contract.Thing
	var unread []error
	for _, s := range a.Sources {
		things, err := runtimeThings(ctx, s)
		unread = append(unread, err)
		for _, t := range things {
			if rec, err := a.Store.Get(t.Workload); err == nil && rec.Fence == 0 {
				all = append(all, t)
			}
		}
	}
	return all, errors.Join(unread...)
}

// Adopt writes the record of a workload that was lost. It starts and makes nothing: it refuses unless what runs carries the mark
// that the record would tell of.
func (a *Activities) Adopt(ctx context.Context, in contract.StepIn) error {
	defer beat(ctx)()
	for _, s := range a.Sources {
		rt, ok := s.(step.Runtime)
		if !ok || rt.Kind() != in.Ref.Kind {
			continue
		}
		err := a.Runner.Adopt(ctx, in, func(ctx context.Context, rec record.Record) (string, error) { return a.marked(ctx, rt, rec) })
		return contract.AsActivityError(err)
	}
	return contract.AsActivityError(contract.Permanent(v1.ReasonInternal, "report this", "this host runs nothing of kind %s", in.Ref.Kind))
}

// marked finds what runs of a workload, and returns its id if its mark is that of the record.
func (a *Activities) marked(ctx context.Context, rt step.Runtime, rec record.Record) (string, error) {
	things, err := a.Unrecorded(ctx)
	for _, t := range things {
		if t.Workload != rec.Workload || t.Generation != rec.Generation || t.Fence > rec.Fence || rec.Attempt > 0 && t.Fence != rec.Fence {
			continue
		}
		o, err := rt.Observe(ctx, rec)
		if err != nil {
			return "", err
		}
		if !o.Down() {
			return t.ID, nil
		}
	}
	if err != nil {
		return "", err
	}
	return "", contract.Permanent(v1.ReasonNotFound, "restart it", "nothing runs that was deployed last")
}
