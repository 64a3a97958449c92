package vm

import (
	"context"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// found is a workload's domain, and for whom it was made.
type found struct {
	Domain
	mark mark
}

// domain finds a workload's domain; nil if there is none. A domain of that name that is not this host's own is an error:
// it is never touched.
func (r *Runtime) domain(ctx context.Context, workload string) (*found, error) {
	name := r.ids.domain(workload)
	d, err := r.driver.Domain(ctx, name)
	if contract.ReasonOf(err) == v1.ReasonNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, marked, err := parseMark(d.XML)
	if err != nil {
		return nil, contract.Retryable(v1.ReasonRuntimeUnavailable, "look at it with virsh dumpxml",
			"the domain %s can't be read", name).WithCause(err)
	}
	if !marked || m.Fleet != r.cfg.Fleet || m.Host != r.cfg.Host || m.Workload != workload {
		return nil, contract.Permanent(v1.ReasonPolicyDenied, "rename or remove that domain",
			"a domain named %s exists that this fleet's agent did not make", name)
	}
	return &found{d, m}, nil
}

// existing is domain for those who need one.
func (r *Runtime) existing(ctx context.Context, workload string) (*found, error) {
	d, err := r.domain(ctx, workload)
	if err == nil && d == nil {
		err = contract.Retryable(v1.ReasonNotFound, "deploy it again", "the domain %s does not exist", r.ids.domain(workload))
	}
	return d, err
}
