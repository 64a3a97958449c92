package agent

import (
	"context"
	"sync"
	"time"

	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// debtWait is how long an admission waits for its debts: what is not paid by then is paid beside everything else.
	debtWait  = 30 * time.Second
	debtAgain = 5 * time.Second
)

// payDebts removes what moved away or was removed by force while the host was gone. It comes before anything is started
// again, and returns when all is paid or a while has passed; the rest goes on.
func (a *Agent) payDebts(ctx context.Context, debts []contract.Debt) {
	if len(debts) == 0 {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for len(debts) > 0 && ctx.Err() == nil {
			debts = a.payOnce(ctx, debts)
			if len(debts) > 0 {
				pause(ctx, debtAgain)
			}
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
	case <-time.After(debtWait):
		a.log.Warn("debts are not paid yet; the host takes no new work before they are")
	}
}

// payOnce tries all debts beside each other, as none may be started again while another takes its time. It tells the fleet
// which are paid, and returns the others.
func (a *Agent) payOnce(ctx context.Context, debts []contract.Debt) (unpaid []contract.Debt) {
	failed := make([]error, len(debts))
	var all sync.WaitGroup
	for i, d := range debts {
		all.Go(func() { failed[i] = a.pay(ctx, d) })
	}
	all.Wait()
	var paid []contract.Debt
	for i, d := range debts {
		if err := failed[i]; err != nil {
			a.log.Warn("a debt could not be paid; it is tried again", "workload", d.Workload, "fence", d.Fence, "error", err)
			unpaid = append(unpaid, d)
			continue
		}
		if a.strict != nil {
			a.strict.Paid(d.Workload)
		}
		a.log.Info("debt paid", "workload", d.Workload, "fence", d.Fence)
		paid = append(paid, d)
	}
	if len(paid) == 0 {
		return unpaid
	}
	sctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	err := a.client.SignalWorkflow(sctx, contract.HostID(a.cfg.Host), "", contract.SignalDebtsPaid, contract.DebtsPaid{Paid: paid})
	if err != nil {
		a.log.Warn("paid debts could not be told; they are told again", "error", err)
		return debts // paying twice does nothing
	}
	return unpaid
}

func (a *Agent) pay(ctx context.Context, d contract.Debt) error {
	rec, err := a.store.Get(d.Workload)
	if err != nil {
		return err
	}
	if rec.Fence == 0 {
		return a.payUnrecorded(ctx, d)
	}
	rt := a.runtimeOf(rec.Kind)
	if rt == nil && !rec.Tombstone() {
		return contract.Permanent(v1.ReasonRuntimeUnavailable, "", "this agent has no runtime for kind %s", rec.Kind)
	}
	return a.runner.Evict(ctx, rt, d)
}

// payUnrecorded removes what is here of a workload that there is no record of: mostly nothing, but the record may have been
// lost. What was made under a later fence than the debt's is not touched.
func (a *Agent) payUnrecorded(ctx context.Context, d contract.Debt) error {
	rt := a.runtimeOf(d.Kind)
	if rt == nil {
		return a.runner.Evict(ctx, nil, d) // it was never here
	}
	fence, err := a.inventory.Marked(ctx, d.Kind, d.Workload)
	switch {
	case err != nil:
		return err
	case fence == 0:
		rt = nil
	case fence > d.Fence:
		a.log.Warn("what is here of a workload is later than the debt, and has no record", "workload", d.Workload, "fence", fence, "debt", d.Fence)
		return nil
	}
	return a.runner.Evict(ctx, rt, d)
}

func (a *Agent) runtimeOf(kind v1.Kind) step.Runtime {
	for _, rt := range a.runtimes {
		if rt.Kind() == kind {
			return rt
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
