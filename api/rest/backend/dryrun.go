package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/berth-dev/berth/api/rest"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/placement"
)

// DryRun compares the workload with what is wanted now. It records nothing.
func (b *Backend) DryRun(ctx context.Context, w *v1.Workload, o rest.Request) (v1.Accepted, error) {
	out := v1.Accepted{Name: w.Metadata.Name, DryRun: true}
	view, err := b.Workload(ctx, w.Metadata.Name, false)
	var missing *contract.Error
	switch {
	case errors.As(err, &missing) && missing.Reason == v1.ReasonNotFound:
		if o.MustExist || o.IfGeneration != nil {
			return v1.Accepted{}, err
		}
		if err := contract.CheckStrict(*w, b.Timings); err != nil {
			return v1.Accepted{}, err
		}
		out.Generation, out.Changed = 1, string(contract.ChangedCreated)
		return out, b.explain(ctx, w, &out)
	case err != nil:
		return v1.Accepted{}, err
	case view.Status.Phase == v1.PhaseRemoving:
		return v1.Accepted{}, contract.Permanent(v1.ReasonAlreadyRemoving, "wait until it is gone, then apply again",
			"the workload %q is being removed", w.Metadata.Name)
	case o.IfGeneration != nil && *o.IfGeneration != view.Status.Generation:
		return v1.Accepted{}, contract.Permanent(v1.ReasonGenerationMismatch, "read the workload again and decide anew",
			"the workload is at generation %d, not %d", view.Status.Generation, *o.IfGeneration)
	}
	now, err := b.full(ctx, w.Metadata.Name)
	if err != nil {
		return v1.Accepted{}, contract.Retryable(v1.ReasonUnavailable, "check that a `berth server` runs",
			"no control worker answered within %s, so that the wanted spec is not known", queryWithin).WithCause(err)
	}
	if err := contract.CheckStrict(*w, now.Timings); err != nil {
		return v1.Accepted{}, err
	}
	if err := v1.CheckUpdate(&now.Workload, w); err != nil {
		return v1.Accepted{}, err
	}
	if out.ChangedFields, err = changedFields(&now.Workload, w); err != nil {
		return v1.Accepted{}, err
	}
	out.Generation, out.Changed = now.Status.Generation, string(contract.ChangedUnchanged)
	if len(out.ChangedFields) > 0 {
		out.Generation, out.Changed = out.Generation+1, string(contract.ChangedUpdated)
	}
	return out, nil
}

// explain says where a new workload would run.
func (b *Backend) explain(ctx context.Context, w *v1.Workload, out *v1.Accepted) error {
	list, err := b.Hosts(ctx, rest.Page{Size: rest.MaxPageSize})
	if err != nil {
		return err
	}
	fitting, refusals := placement.Explain(list.Items, *w)
	for _, host := range fitting[:min(len(fitting), mostAsked)] {
		answer, err := b.would(ctx, host, w)
		if err != nil || answer.Granted {
			out.Host = host // without an answer it is a guess
			break
		}
		refusals = append(refusals, placement.Refusal{Host: host, Reason: answer.Reason, Short: answer.Short})
	}
	refusals, _ = placement.FirstThatMatter(refusals)
	for _, r := range refusals {
		out.Refusals = append(out.Refusals, r.Host+": "+r.Short)
	}
	return nil
}

// mostAsked bounds how many hosts a dry run asks. If so many refuse though they seemed to fit, the others are not named.
const mostAsked = 50

// would asks a host what it would answer to a reserve: its ledger knows of ports, devices, and what is kept apart.
func (b *Backend) would(ctx context.Context, host string, w *v1.Workload) (contract.ReserveReply, error) {
	ctx, cancel := context.WithTimeout(ctx, queryWithin)
	defer cancel()
	var answer contract.ReserveReply
	value, err := b.Client.QueryWorkflow(ctx, contract.HostID(host), "", contract.QueryHostWould, contract.ReserveRequest{
		Workload: w.Metadata.Name, Needs: contract.NeedsOf(*w), Placement: w.Spec().Placement,
	})
	if err != nil {
		return answer, err
	}
	return answer, value.Get(&answer)
}

// changedFields returns the paths at which two workloads differ, both with defaults filled in.
func changedFields(from, to *v1.Workload) ([]string, error) {
	var sides [2]any
	for i, w := range []*v1.Workload{from, to} {
		c := w.Clone()
		c.Default()
		data, err := json.Marshal(c)
		if err != nil {
			return nil, fmt.Errorf("compare specs: %w", err)
		}
		if err := json.Unmarshal(data, &sides[i]); err != nil {
			return nil, fmt.Errorf("compare specs: %w", err)
		}
	}
	return diff("", sides[0], sides[1]), nil
}
