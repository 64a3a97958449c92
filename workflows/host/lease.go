package host

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/berth-dev/berth/workflows/contract"
)

// leaseEvents is the history length after which Lease continues as new, between two HoldLeases.
const leaseEvents = 500

// Lease holds the one long-running activity by which a host's agent shows that it is alive. It is apart from Host, so that
// Host's continue-as-new never drops it. It ends when no lease is held; the next hello starts it again.
func Lease(ctx workflow.Context, in contract.LeaseInput) error {
	renew := workflow.GetSignalChannel(ctx, contract.SignalLeaseRenew)
	for {
		next, err := hold(ctx, in, renew)
		if err != nil {
			return err
		}
		if next == nil {
			return nil
		}
		in = *next
		if workflow.GetInfo(ctx).GetCurrentHistoryLength() > leaseEvents {
			return workflow.NewContinueAsNewError(ctx, contract.WorkflowLease, in)
		}
	}
}

// hold runs one HoldLease until it ends, or until a later lease takes its place. It returns the later lease, if any.
func hold(ctx workflow.Context, in contract.LeaseInput, renew workflow.ReceiveChannel) (*contract.LeaseInput, error) {
	actx, cancel := workflow.WithCancel(workflow.WithActivityOptions(ctx, contract.LeaseActivity(in)))
	defer cancel()
	held := workflow.ExecuteActivity(actx, contract.ActivityHoldLease, contract.HoldLeaseIn{
		Host: in.Host, LeaseNo: in.LeaseNo, Beat: in.Timings.Beat, Lease: in.Timings.Lease,
	})
	var next *contract.LeaseInput
	for next == nil {
		ended := false
		workflow.NewSelector(ctx).
			AddFuture(held, func(workflow.Future) { ended = true }).
			AddReceive(renew, func(c workflow.ReceiveChannel, _ bool) {
				var later contract.LeaseInput
				if c.Receive(ctx, &later); later.LeaseNo > in.LeaseNo {
					next = &later
				}
			}).Select(ctx)
		if ended {
			break
		}
	}
	if next != nil {
		return next, nil // the same instance took over: nothing ended
	}
	end := contract.LeaseEnded{LeaseNo: in.LeaseNo}
	var out contract.HoldLeaseOut
	switch err := held.Get(ctx, &out); {
	case err != nil:
		end.Message, end.RanOut = lossMessage(err, in.Timings.Lease), ranOut(err)
	default:
		end.Left = out.Left
		end.Message = "the agent gave its lease up"
	}
	err := workflow.SignalExternalWorkflow(ctx, contract.HostID(in.Host), "", contract.SignalLeaseEnded, end).Get(ctx, nil)
	if err != nil {
		return nil, err
	}
	// A renew that came meanwhile is taken; one that comes later starts a new run.
	for {
		var later contract.LeaseInput
		if !renew.ReceiveAsync(&later) {
			return nil, nil
		}
		if later.LeaseNo > in.LeaseNo {
			return &later, nil
		}
	}
}

// ranOut reports whether a lease ended because no beat came for as long as it lasts.
func ranOut(err error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout)
}

func lossMessage(err error, lease time.Duration) string {
	if ranOut(err) {
		return "no beat from the agent for " + lease.String()
	}
	return "the lease ended: " + err.Error()
}
