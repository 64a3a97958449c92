// Package place finds a host for a workload: it ranks the hosts by what Visibility says of them, which may be stale, and
// asks them in turn, because only a host's ledger can grant. Who is refused everywhere waits in the fleet's queue.
package place

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/berth-dev/berth/activities/failpoint"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/placement"
)

// Activities run on the control plane's queue.
type Activities struct {
	Client client.Client
	// Data reads what the client hands out raw: it may be encrypted.
	Data converter.DataConverter
	Log  *slog.Logger

	hosts hostCache
}

// Place reserves room on one host and says which. It heartbeats whom it is about to ask, so that a retry asks that one
// first: a reserve is keyed by workload and fence, and gets the same answer twice.
//
// Refused everywhere, the workload registers with the queue and asks once more: room that appeared before it was registered
// would wake nobody. When nobody has room then either, the error says what each is short of.
func (a *Activities) Place(ctx context.Context, in contract.PlaceIn) (contract.PlaceOut, error) {
	failpoint.Hit(contract.ActivityPlace+".begin", in.Reserve.Workload)
	defer failpoint.Hit(contract.ActivityPlace+".end", in.Reserve.Workload)
	out, err := a.place(ctx, in)
	return out, contract.AsActivityError(err)
}

func (a *Activities) place(ctx context.Context, in contract.PlaceIn) (contract.PlaceOut, error) {
	var last string
	if activity.HasHeartbeatDetails(ctx) {
		_ = activity.GetHeartbeatDetails(ctx, &last) // without it the order is the usual one
	}
	out, _, err := a.round(ctx, in, last, time.Time{})
	if err != nil || out.Host != "" {
		out.Queued = activity.GetInfo(ctx).Attempt > 1 // an earlier attempt may have registered it
		return out, err
	}
	if err := a.enqueue(ctx, waiter(in)); err != nil {
		return contract.PlaceOut{}, err
	}
	out, refusals, err := a.round(ctx, in, "", time.Now())
	switch {
	case err != nil:
		return contract.PlaceOut{}, err
	case out.Host != "":
		out.Queued = true
		return out, nil
	}
	return contract.PlaceOut{}, refused(refusals)
}

// round asks the candidates in turn, as they were at since or later. Without a grant, every one's refusal is returned.
func (a *Activities) round(ctx context.Context, in contract.PlaceIn, last string, since time.Time) (contract.PlaceOut, []placement.Refusal, error) {
	candidates, refusals, err := a.candidates(ctx, in, since)
	if err != nil {
		return contract.PlaceOut{}, nil, err
	}
	for _, host := range askFirst(candidates, last) {
		activity.RecordHeartbeat(ctx, host)
		failpoint.Hit("Place.reserve.before", in.Reserve.Workload)
		reply, err := a.ask(ctx, host, in)
		failpoint.Hit("Place.reserve.after", in.Reserve.Workload)
		switch {
		case err != nil:
			return contract.PlaceOut{}, nil, err
		case reply.Granted:
			a.hosts.granted(host, in.Reserve.Needs.Amount)
			return contract.PlaceOut{Host: host, Instance: reply.Instance, Exact: reply.Exact}, nil, nil
		case reply.Reason == v1.ReasonStaleFence:
			return contract.PlaceOut{}, nil, contract.StaleFence(in.Reserve.Fence, reply.Seen)
		}
		a.hosts.refused()
		refusals = append(refusals, placement.Refusal{Host: host, Reason: reply.Reason, Short: reply.Short})
	}
	return contract.PlaceOut{}, refusals, nil
}

// ask reserves on one host. Where others were refused lately, the queue is asked first whether anybody goes before.
func (a *Activities) ask(ctx context.Context, host string, in contract.PlaceIn) (contract.ReserveReply, error) {
	reply, err := a.reserve(ctx, host, in.Reserve)
	if err != nil || !reply.AskAhead {
		return reply, err
	}
	ahead, err := a.ahead(ctx, contract.AskAhead{Host: reply.Room, Newcomer: waiter(in)})
	if err != nil {
		return reply, err
	}
	request := in.Reserve
	request.Passed, request.Ahead = true, ahead
	return a.reserve(ctx, host, request)
}

// Bind keeps a grant on the host that gave it.
func (a *Activities) Bind(ctx context.Context, in contract.BindRequest) error {
	failpoint.Hit(contract.ActivityBind+".begin", in.Workload)
	err := a.updateHost(ctx, in.Host, contract.UpdateBind, in, nil)
	failpoint.Hit(contract.ActivityBind+".end", in.Workload)
	return contract.AsActivityError(err)
}

// Evict asks a host that is away to let a workload go. A host that nobody knows has nothing of it.
func (a *Activities) Evict(ctx context.Context, in contract.EvictRequest) (contract.EvictReply, error) {
	failpoint.Hit(contract.ActivityEvict+".begin", in.Workload)
	var reply contract.EvictReply
	err := a.updateHost(ctx, in.Host, contract.UpdateEvict, in, &reply)
	failpoint.Hit(contract.ActivityEvict+".end", in.Workload)
	if isGone(err) {
		return contract.EvictReply{}, nil
	}
	return reply, contract.AsActivityError(err)
}

// GrantLease starts a host's lease, or tells the running one of its next number.
func (a *Activities) GrantLease(ctx context.Context, in contract.LeaseInput) error {
	failpoint.Hit(contract.ActivityGrantLease+".begin", in.Host)
	id := contract.LeaseID(in.Host)
	_, err := a.Client.SignalWithStartWorkflow(ctx, id, contract.SignalLeaseRenew, in,
		client.StartWorkflowOptions{ID: id, TaskQueue: contract.ControlPlaneQueue}, contract.WorkflowLease, in)
	failpoint.Hit(contract.ActivityGrantLease+".end", in.Host)
	return err
}

func waiter(in contract.PlaceIn) contract.Waiter {
	r := in.Reserve
	return contract.Waiter{
		Workload: r.Workload, Fence: r.Fence, Priority: in.Priority, Since: in.Since, Needs: r.Needs,
		Placement: r.Placement, Pinned: in.Pinned, Instance: r.Instance,
	}
}
