package agent

import (
	"context"
	"time"

	"github.com/berth-dev/berth/workflows/contract"
)

// askAgain is the pause before a runtime that could not be read is read again.
const askAgain = 3 * time.Second

// tellUnrecorded tells workloads of which something is here, and no record: nobody looks after them. Each lease begins with it.
func (a *Agent) tellUnrecorded(ctx context.Context) {
	told := map[string]bool{}
	for {
		things, err := a.inventory.Unrecorded(ctx)
		for _, t := range things {
			if !told[t.Workload] {
				told[t.Workload] = true
				a.tellOfThing(ctx, t)
			}
		}
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(askAgain):
		}
	}
}

func (a *Agent) tellOfThing(ctx context.Context, t contract.Thing) {
	a.log.Warn("what is here of a workload has no record", "workload", t.Workload, "kind", t.Kind, "name", t.Name, "fence", t.Fence)
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	err := a.observe(ctx, t.Workload, contract.Observation{
		Host: a.cfg.Host, LeaseNo: a.holder.LeaseNo(), State: contract.RunUnobservable, Message: "its host has no record of it",
		Unrecorded: &contract.Unrecorded{Generation: t.Generation, Fence: t.Fence},
	})
	if err != nil {
		a.log.Warn("the workload could not be told that its record is missing", "workload", t.Workload, "error", err)
	}
}
