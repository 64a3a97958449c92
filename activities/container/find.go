package container

import (
	"cmp"
	"context"
	"slices"

	"github.com/berth-dev/berth/activities/record"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// find returns the workload's containers, the one of the highest fence first.
func (r *Runtime) find(ctx context.Context, workload string) ([]Container, error) {
	all, err := r.own(ctx, r.workloadLabels(workload))
	slices.SortFunc(all, func(a, b Container) int { return cmp.Compare(fenceOf(b), fenceOf(a)) })
	return all, err
}

// own returns the containers with the labels that are Berth's by their names too: see named.
func (r *Runtime) own(ctx context.Context, labels map[string]string) ([]Container, error) {
	all, err := r.driver.Find(ctx, labels)
	return slices.DeleteFunc(all, func(c Container) bool {
		return !r.named(contract.ThingContainer, c.Name, c.Labels[LabelWorkload])
	}), err
}

// choose tells the container that a start may keep from those that it replaces.
func choose(all []Container, ref contract.Ref, spec *v1.ContainerSpec) (keep *Container, old []Container) {
	want := digest(spec)
	for _, c := range all {
		if keep == nil && c.Status != StatusGone && isOf(c, ref.Generation, ref.Attempt) && c.Labels[LabelSpec] == want {
			keep = &c
			continue
		}
		old = append(old, c)
	}
	return keep, old
}

// exact finds the container of a generation and attempt.
func (r *Runtime) exact(ctx context.Context, workload string, generation int64, attempt int) (Container, error) {
	return r.first(ctx, workload, func(c Container) bool { return isOf(c, generation, attempt) })
}

// current finds the container that stands for a workload. While an update is under way, a service may still run as an
// earlier generation; a job's earlier attempt says nothing about this one.
func (r *Runtime) current(ctx context.Context, rec record.Record) (Container, error) {
	c, err := r.exact(ctx, rec.Workload, rec.Generation, rec.Attempt)
	if rec.Attempt != 0 || contract.ReasonOf(err) != v1.ReasonNotFound {
		return c, err
	}
	return r.first(ctx, rec.Workload, func(c Container) bool { return c.Labels[LabelAttempt] == "0" })
}

func (r *Runtime) first(ctx context.Context, workload string, is func(Container) bool) (Container, error) {
	all, err := r.find(ctx, workload)
	if err != nil {
		return Container{}, err
	}
	for _, c := range all {
		if c.Status != StatusGone && is(c) {
			return c, nil
		}
	}
	return Container{}, contract.Retryable(v1.ReasonNotFound, "deploy it again", "there is no container of %s on host %s", workload, r.cfg.Host)
}

func short(id string) string { return id[:min(12, len(id))] }
