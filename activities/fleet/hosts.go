package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Hosts finds the fleet's hosts, or tells which of those that are named exist.
func (a *Activities) Hosts(ctx context.Context, in contract.FleetHostsIn) (contract.FleetHostsOut, error) {
	if len(in.Hosts) == 0 {
		names, err := a.all(ctx)
		return contract.FleetHostsOut{Hosts: names}, err
	}
	names := slices.Clone(in.Hosts)
	slices.Sort(names)
	names = slices.Compact(names)
	known := make([]bool, len(names))
	err := each(ctx, len(names), func(ctx context.Context, i int) error {
		resp, err := a.Client.DescribeWorkflow(ctx, contract.HostID(names[i]), "")
		if err != nil && !isGone(err) {
			return unread("host", names[i], err)
		}
		known[i] = err == nil && resp.RawResponse.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
		return nil
	})
	var out contract.FleetHostsOut
	for i, name := range names {
		if known[i] {
			out.Hosts = append(out.Hosts, name)
		} else {
			out.Unknown = append(out.Unknown, name)
		}
	}
	return out, err
}

func (a *Activities) all(ctx context.Context) ([]string, error) {
	var names []string
	for page := []byte(nil); ; {
		resp, err := a.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query:    fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running'", contract.WorkflowHost),
			PageSize: 500, NextPageToken: page,
		})
		if err != nil {
			return nil, unread("the list of", "hosts", err)
		}
		for _, e := range resp.GetExecutions() {
			if name, ok := contract.HostName(e.GetExecution().GetWorkflowId()); ok {
				names = append(names, name)
			}
		}
		if page = resp.GetNextPageToken(); len(page) == 0 {
			slices.Sort(names)
			return slices.Compact(names), nil
		}
	}
}

// hostState is what a host's entity answers, as far as it matters here.
type hostState struct {
	Instance string       `json:"instance"`
	Phase    v1.HostState `json:"phase"`
	Since    time.Time    `json:"since"`
	Ledger   struct {
		Entries map[string]struct {
			Fence      int64 `json:"fence"`
			Generation int64 `json:"generation"`
			Bound      bool  `json:"bound"`
			Needs      struct {
				Kind v1.Kind `json:"kind"`
			} `json:"needs"`
		} `json:"entries"`
	} `json:"ledger"`
	Debts []contract.Debt `json:"debts"`
}

// Ledgers asks hosts' entities what they have given away, and to whom. All of them answer, or it fails.
func (a *Activities) Ledgers(ctx context.Context, in contract.FleetLedgersIn) (contract.FleetLedgersOut, error) {
	out := contract.FleetLedgersOut{Hosts: make([]contract.HostLedger, len(in.Hosts))}
	err := each(ctx, len(in.Hosts), func(ctx context.Context, i int) (err error) {
		out.Hosts[i], err = a.ledger(ctx, in.Hosts[i])
		return err
	})
	return out, err
}

func (a *Activities) ledger(ctx context.Context, host string) (contract.HostLedger, error) {
	answer, err := a.Client.QueryWorkflow(ctx, contract.HostID(host), "", contract.QueryHostFull)
	if isGone(err) {
		return contract.HostLedger{Host: host, State: v1.HostForgotten}, nil // its entity ended since it was found
	}
	var s hostState
	if err == nil {
		err = answer.Get(&s)
	}
	if err != nil {
		return contract.HostLedger{}, unread("the ledger of host", host, err)
	}
	l := contract.HostLedger{
		Host: host, Instance: s.Instance, Online: s.Phase == v1.HostOnline, State: s.Phase, Debts: s.Debts,
	}
	if !s.Since.IsZero() {
		l.Since = s.Since.UnixMilli()
	}
	for _, name := range slices.Sorted(maps.Keys(s.Ledger.Entries)) {
		e := s.Ledger.Entries[name]
		l.Reservations = append(l.Reservations, contract.Reservation{
			Workload: name, Fence: e.Fence, Generation: e.Generation, Kind: e.Needs.Kind, Bound: e.Bound,
		})
	}
	return l, nil
}
