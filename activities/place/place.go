// Package place finds a host for a workload: it ranks the hosts by what Visibility says of them, which may be stale, and
// asks them in turn, because only a host's ledger can grant.
package place

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sort"
	"strings"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/berth-dev/berth/activities/failpoint"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Activities run on the control plane's queue.
type Activities struct {
	Client client.Client
	// Data reads what the client hands out raw: it may be encrypted.
	Data converter.DataConverter
	Log  *slog.Logger
}

// Place reserves room on one host and says which. It heartbeats whom it is about to ask, so that a retry asks that one
// first: a reserve is keyed by workload and fence, and gets the same answer twice. When nobody has room the error says what
// each is short of.
func (a *Activities) Place(ctx context.Context, in contract.PlaceIn) (contract.PlaceOut, error) {
	failpoint.Hit(contract.ActivityPlace+".begin", in.Reserve.Workload)
	defer failpoint.Hit(contract.ActivityPlace+".end", in.Reserve.Workload)
	hosts, err := a.candidates(ctx, in)
	if err != nil {
		return contract.PlaceOut{}, contract.AsActivityError(err)
	}
	var last string
	if activity.HasHeartbeatDetails(ctx) && activity.GetHeartbeatDetails(ctx, &last) == nil {
		hosts = askFirst(hosts, last)
	}
	refusals := make([]refusal, 0, len(hosts))
	for _, host := range hosts {
		activity.RecordHeartbeat(ctx, host)
		failpoint.Hit("Place.reserve.before", in.Reserve.Workload)
		reply, err := a.reserve(ctx, host, in.Reserve)
		failpoint.Hit("Place.reserve.after", in.Reserve.Workload)
		if err != nil {
			return contract.PlaceOut{}, contract.AsActivityError(err)
		}
		if reply.Granted {
			return contract.PlaceOut{Host: host, Instance: reply.Instance}, nil
		}
		if reply.Reason == v1.ReasonStaleFence {
			return contract.PlaceOut{}, contract.AsActivityError(contract.StaleFence(in.Reserve.Fence, reply.Seen))
		}
		refusals = append(refusals, refusal{host, reply.Reason, reply.Short})
	}
	return contract.PlaceOut{}, contract.AsActivityError(refused(refusals))
}

// Bind keeps a grant on the host that gave it.
func (a *Activities) Bind(ctx context.Context, in contract.BindRequest) error {
	failpoint.Hit(contract.ActivityBind+".begin", in.Workload)
	err := a.update(ctx, in.Host, contract.UpdateBind, in, nil)
	failpoint.Hit(contract.ActivityBind+".end", in.Workload)
	return contract.AsActivityError(err)
}

// GrantLease starts a host's lease, or tells the running one of its next number.
func (a *Activities) GrantLease(ctx context.Context, in contract.LeaseInput) error {
	failpoint.Hit(contract.ActivityGrantLease+".begin", in.Host)
	defer failpoint.Hit(contract.ActivityGrantLease+".end", in.Host)
	id := contract.LeaseID(in.Host)
	_, err := a.Client.SignalWithStartWorkflow(ctx, id, contract.SignalLeaseRenew, in,
		client.StartWorkflowOptions{ID: id, TaskQueue: contract.ControlPlaneQueue}, contract.WorkflowLease, in)
	return err
}

func (a *Activities) reserve(ctx context.Context, host string, req contract.ReserveRequest) (contract.ReserveReply, error) {
	var reply contract.ReserveReply
	err := a.update(ctx, host, contract.UpdateReserve, req, &reply)
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return contract.ReserveReply{Reason: v1.ReasonNoMatchingHost, Short: "the host is not known"}, nil
	}
	return reply, err
}

// update calls an update of Host and waits for its answer. The update's own id is left to chance: the ledger knows repeats
// by workload and fence.
func (a *Activities) update(ctx context.Context, host, name string, in, out any) error {
	handle, err := a.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: contract.HostID(host), UpdateName: name, Args: []any{in},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return fmt.Errorf("ask host %s to %s: %w", host, name, err)
	}
	return handle.Get(ctx, out)
}

type refusal struct {
	host   string
	reason v1.Reason
	short  string
}

// refused turns the hosts' answers into one error. Its reason is theirs if they agree, NoCapacity if any has too little
// room, and else that none matches.
func refused(all []refusal) error {
	if len(all) == 0 {
		return contract.Retryable(v1.ReasonNoMatchingHost, "start an agent: berth agent", "no host has joined the fleet")
	}
	reason := all[0].reason
	lines := make([]string, 0, len(all))
	for _, r := range all {
		if r.reason != reason {
			reason = v1.ReasonNoMatchingHost
		}
		lines = append(lines, r.host+": "+r.short)
	}
	for _, r := range all {
		if r.reason == v1.ReasonNoCapacity {
			reason = v1.ReasonNoCapacity
		}
	}
	return contract.Retryable(reason, advice(reason), "%s", strings.Join(lines, "; "))
}

func advice(reason v1.Reason) string {
	switch reason {
	case v1.ReasonNoCapacity:
		return "it runs as soon as there is room: stop or remove something, ask for less, or add a host"
	case v1.ReasonHostOffline:
		return "start the host's agent"
	case v1.ReasonRuntimeUnavailable:
		return "install or start the runtime on the host; the agent notices by itself"
	case v1.ReasonPortConflict:
		return "choose another host port, or remove the workload that has it"
	default:
		return "see berth hosts"
	}
}

// candidates are the hosts to ask, best first: the pinned one alone, else online ones with the most free memory.
func (a *Activities) candidates(ctx context.Context, in contract.PlaceIn) ([]string, error) {
	if in.Pinned != "" {
		return []string{in.Pinned}, nil
	}
	hosts, err := ListHosts(ctx, a.Client, a.Data)
	if err != nil {
		return nil, err
	}
	sort.SliceStable(hosts, func(i, j int) bool {
		if a, b := hosts[i].State == v1.HostOnline, hosts[j].State == v1.HostOnline; a != b {
			return a
		}
		return hosts[i].Capacity.Memory-hosts[i].Reserved.Memory > hosts[j].Capacity.Memory-hosts[j].Reserved.Memory
	})
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.Name
	}
	return askFirst(names, in.Prefer), nil
}

func askFirst(hosts []string, first string) []string {
	for i, h := range hosts {
		if h == first {
			rest := append(append([]string{}, hosts[:i]...), hosts[i+1:]...)
			return append([]string{first}, rest...)
		}
	}
	return hosts
}
