// Package lease keeps a host's place in the fleet: it says hello, holds the lease, and knows until when the host may
// believe that it is still a member.
package lease

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/berth-dev/berth/activities/deadline"
	"github.com/berth-dev/berth/activities/failpoint"
	"github.com/berth-dev/berth/workflows/contract"
)

// Keeper is told what must be known before a lease can be live, and until when it then lasts.
type Keeper interface {
	// Welcomed takes the debts that a new lease comes with.
	Welcomed(debts []contract.Debt)
	// Renewed takes when the lease ends, by deadline.Now.
	Renewed(until time.Duration)
}

// Holder holds the host's lease while the agent runs.
type Holder struct {
	// Keeper may be nil.
	Keeper Keeper

	client client.Client
	log    *slog.Logger

	mu       sync.Mutex
	leaseNo  int64
	deadline time.Duration // by deadline.Now
	stall    stall
	gaps     gaps
	lost     chan struct{} // closed when the lease in leaseNo has ended and hello must be said again
}

// NewHolder returns a holder without a lease.
func NewHolder(c client.Client, log *slog.Logger) *Holder {
	return &Holder{
		client: c, log: log, lost: make(chan struct{}),
		stall: stall{limit: contract.DefaultTimings().Lease, alive: deadline.Now()},
	}
}

// LeaseNo is the number of the last lease, zero before the first.
func (h *Holder) LeaseNo() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.leaseNo
}

// Live reports whether the lease is held: counted from when the last acknowledged beat was sent.
func (h *Holder) Live() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return deadline.Now() < h.deadline
}

// expect prepares for the lease that a hello was granted.
func (h *Holder) expect(w contract.Welcome) <-chan struct{} {
	if h.Keeper != nil {
		h.Keeper.Welcomed(w.Debts)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leaseNo, h.lost = w.LeaseNo, make(chan struct{})
	h.stall.limit = w.Timings.Lease
	h.gaps = gaps{}
	return h.lost
}

func (h *Holder) end(leaseNo int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if leaseNo != h.leaseNo {
		return
	}
	select {
	case <-h.lost:
	default:
		close(h.lost)
	}
}

func (h *Holder) acknowledged(leaseNo int64, sent, lease time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if leaseNo != h.leaseNo {
		return
	}
	h.deadline = sent + lease
	h.stall.acknowledged(leaseNo, sent)
	if gap := h.gaps.acknowledged(deadline.Now()); gap > 0 {
		h.log.Debug("beat", "lease", leaseNo, "gap", gap)
	}
	if h.Keeper != nil {
		h.Keeper.Renewed(h.deadline)
	}
}

// longestGap is the longest time between two acknowledged beats of the current lease.
func (h *Holder) longestGap() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.gaps.longest
}

// HoldLease renews the lease until the agent stops, the lease is taken over, or the server no longer knows it. It renews by
// the client's call, not by the activity's own heartbeat, because that one is batched and says nothing of what arrived.
func (h *Holder) HoldLease(ctx context.Context, in contract.HoldLeaseIn) (contract.HoldLeaseOut, error) {
	failpoint.Hit(contract.ActivityHoldLease+".begin", in.Host)
	defer failpoint.Hit(contract.ActivityHoldLease+".end", in.Host)
	defer h.end(in.LeaseNo)
	token := activity.GetInfo(ctx).TaskToken
	ticker := time.NewTicker(in.Beat)
	defer ticker.Stop()
	announced := false
	for {
		sent := deadline.Now()
		err := h.beat(ctx, token, in)
		switch {
		case err == nil:
			h.acknowledged(in.LeaseNo, sent, in.Lease)
			if !announced {
				announced = h.announce(ctx, in)
			}
		case over(err):
			h.log.Warn("lease ended", "lease", in.LeaseNo, "error", err)
			return contract.HoldLeaseOut{}, err
		default:
			h.log.Warn("beat failed", "lease", in.LeaseNo, "error", err)
		}
		select {
		case <-ticker.C:
		case <-activity.GetWorkerStopChannel(ctx):
			return contract.HoldLeaseOut{Left: true}, nil
		case <-ctx.Done():
			return contract.HoldLeaseOut{}, context.Cause(ctx)
		}
	}
}

func (h *Holder) beat(ctx context.Context, token []byte, in contract.HoldLeaseIn) error {
	ctx, cancel := context.WithTimeout(ctx, max(in.Beat, time.Second))
	defer cancel()
	return h.client.RecordActivityHeartbeat(ctx, token, contract.Beat{LeaseNo: in.LeaseNo, LongestGap: h.longestGap()})
}

// announce makes the host online. If it fails, the next beat tries again.
func (h *Holder) announce(ctx context.Context, in contract.HoldLeaseIn) bool {
	ctx, cancel := context.WithTimeout(ctx, max(in.Beat, time.Second))
	defer cancel()
	err := h.client.SignalWorkflow(ctx, contract.HostID(in.Host), "", contract.SignalLeaseLive, contract.LeaseLive{LeaseNo: in.LeaseNo})
	if err != nil {
		h.log.Warn("the host could not be announced", "lease", in.LeaseNo, "error", err)
		return false
	}
	h.log.Info("lease is live", "lease", in.LeaseNo)
	return true
}

// over tells an end of the lease from a beat that merely did not arrive.
func over(err error) bool {
	var gone *serviceerror.NotFound
	return errors.As(err, &gone) || temporal.IsCanceledError(err)
}
