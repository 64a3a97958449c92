package step

import (
	"context"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Strict says whether a strict workload may be started on this host: only under a live lease, and beside a guard.
type Strict interface {
	// Enter is called before a step that may start a strict workload, under the workload's lock. From then on it may run. The
	// step calls leave when it is over, and says whether it went well.
	Enter(w v1.Workload) (leave func(started bool), err error)
	// MayStart is asked immediately before each mutation of such a step.
	MayStart(workload string) error
	// Gone says that nothing of the workload runs here, or that it is strict no more.
	Gone(workload string)
}

// Halter is a runtime whose workloads can be strict. It needs neither record nor lock: what it does is right whoever else is
// at work on the workload.
type Halter interface {
	// Halt stops what runs of a workload, by force after the grace, and returns nil only if nothing of it runs. It calls found
	// before it stops anything.
	Halt(ctx context.Context, workload string, grace time.Duration, found func()) error
	// Processes are the process ids by which what runs of a workload can be ended without the runtime.
	Processes(ctx context.Context, workload string) ([]int, error)
}

// strictHere lets a step start a strict workload, if it may. A host without Strict takes none.
func (r *Runner) strictHere(c *Call, w v1.Workload) (leave func(started bool), err error) {
	if spec := w.Spec(); spec == nil || !spec.Strict {
		return func(bool) {}, nil
	}
	if r.Strict == nil {
		return nil, contract.Permanent(v1.ReasonPolicyDenied, "run it on a host with a guard, or without strict", "this host takes no strict workloads")
	}
	leave, err = r.Strict.Enter(w)
	c.mayStart = func() error { return r.Strict.MayStart(c.In.Ref.Workload) }
	return leave, err
}

// strictOver takes a workload off those that must not outlive the lease, once a step has stopped it or made it another's.
func (r *Runner) strictOver(c *Call, step contract.Step) {
	if r.Strict == nil {
		return
	}
	spec := c.In.Spec.Spec()
	switch {
	case step == contract.StepStop, step == contract.StepRemove:
		r.Strict.Gone(c.In.Ref.Workload)
	case step == contract.StepStart && (spec == nil || !spec.Strict):
		r.Strict.Gone(c.In.Ref.Workload)
	}
}

func startsWorkload(step contract.Step) bool {
	return step == contract.StepCreate || step == contract.StepStart
}
