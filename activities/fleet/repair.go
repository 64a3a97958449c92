package fleet

import (
	"context"

	"github.com/berth-dev/berth/workflows/contract"
)

// Repair tells workloads what is absent from their hosts, and hosts what is reserved for nobody. Each message holds only as
// long as what it was concluded from: a repeat, or a late one, changes nothing.
func (a *Activities) Repair(ctx context.Context, in contract.FleetRepairIn) (contract.FleetRepairOut, error) {
	out := contract.FleetRepairOut{Failed: make([]string, len(in.Repairs))}
	err := each(ctx, len(in.Repairs), func(ctx context.Context, i int) error {
		if err := a.tell(ctx, in.Repairs[i]); err != nil && !isGone(err) {
			out.Failed[i] = "it could not be told: " + err.Error()
		}
		return nil
	})
	return out, err
}

func (a *Activities) tell(ctx context.Context, r contract.Repair) error {
	if r.Release != nil {
		return a.Client.SignalWorkflow(ctx, contract.HostID(r.Host), "", contract.SignalRelease, *r.Release)
	}
	return a.Client.SignalWorkflow(ctx, contract.WorkloadID(r.Workload), "", contract.SignalObserve, contract.Observation{
		Host: r.Host, State: contract.RunAbsent, Message: r.Absent.Message, Sweep: r.Absent,
	})
}
