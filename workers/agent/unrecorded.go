package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/berth-dev/berth/workflows/contract"
)

// askAgain is the pause before a runtime that could not be read is read again, and a workload that could not be told is told.
const askAgain = 3 * time.Second

// tellUnrecorded tells workloads of which something is here, and no record: nobody looks after them. Each lease begins with it.
func (a *Agent) tellUnrecorded(ctx context.Context) {
	told := map[string]bool{}
	for {
		things, err := a.inventory.Unrecorded(ctx)
		again := err != nil
		for _, t := range latest(things) {
			if !told[t.Workload] {
				told[t.Workload] = a.tellOfThing(ctx, t)
				again = again || !told[t.Workload]
			}
		}
		if !again {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(askAgain):
		}
	}
}

// latest is the latest thing of each workload: an update that did not come to its end leaves two.
func latest(things []contract.Thing) []contract.Thing {
	slices.SortStableFunc(things, func(x, y contract.Thing) int {
		return cmp.Or(cmp.Compare(x.Workload, y.Workload), cmp.Compare(y.Fence, x.Fence))
	})
	return slices.CompactFunc(things, func(x, y contract.Thing) bool { return x.Workload == y.Workload })
}

// tellOfThing reports whether the workload has been told, or there is none.
func (a *Agent) tellOfThing(ctx context.Context, t contract.Thing) bool {
	a.log.Warn("what is here of a workload has no record", "workload", t.Workload, "kind", t.Kind, "name", t.Name, "fence", t.Fence)
	sctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	err := a.observe(sctx, t.Workload, contract.Observation{
		Host: a.cfg.Host, LeaseNo: a.holder.LeaseNo(), State: contract.RunUnobservable, Message: "its host has no record of it",
		Unrecorded: &contract.Unrecorded{Generation: t.Generation, Fence: t.Fence},
	})
	var gone *serviceerror.NotFound
	if err != nil && !errors.As(err, &gone) {
		a.log.Warn("the workload could not be told that its record is missing; it is told again", "workload", t.Workload, "error", err)
		return false
	}
	if rec, err := a.store.Get(t.Workload); err == nil && rec.Fence != 0 {
		// An action has written one meanwhile: what was told of it may have come before.
		a.supervisor.TellAgain(t.Workload)
	}
	return true
}
