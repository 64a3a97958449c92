package backend

import (
	"cmp"
	"context"
	"slices"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"

	"github.com/berth-dev/berth/api/rest"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Hosts lists the fleet's hosts from Visibility.
func (b *Backend) Hosts(ctx context.Context, p rest.Page) (v1.HostList, error) {
	infos, next, err := b.page(ctx, openOf(contract.WorkflowHost), p)
	if err != nil {
		return v1.HostList{}, err
	}
	list := v1.HostList{Items: make([]v1.Host, 0, len(infos)), NextPageToken: next}
	for _, info := range infos {
		host, err := b.host(info)
		if err != nil {
			return v1.HostList{}, err
		}
		list.Items = append(list.Items, host)
	}
	b.complete(ctx, list.Items)
	slices.SortFunc(list.Items, func(a, b v1.Host) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// Host reads one host.
func (b *Backend) Host(ctx context.Context, name string) (v1.Host, error) {
	info, err := b.open(ctx, contract.HostID(name), "host", name)
	if err != nil {
		return v1.Host{}, err
	}
	host, err := b.host(info.GetWorkflowExecutionInfo())
	if err != nil {
		return host, err
	}
	one := []v1.Host{host}
	b.complete(ctx, one)
	return one[0], nil
}

// host reads a host's memo. A host whose first worker has yet to answer is Joining.
func (b *Backend) host(info *workflowpb.WorkflowExecutionInfo) (v1.Host, error) {
	name, _ := contract.HostName(info.GetExecution().GetWorkflowId())
	host := v1.Host{Name: name, State: v1.HostJoining, LastChange: info.GetStartTime().AsTime()}
	_, err := b.memo(info.GetMemo(), contract.MemoStatus, &host)
	return host, err
}

// complete adds to hosts what their memos don't have: what is free now, and their beats.
func (b *Backend) complete(ctx context.Context, hosts []v1.Host) {
	for i := range hosts {
		free := hosts[i].FreeNow()
		hosts[i].Free = &free
	}
	b.addBeats(ctx, hosts)
}

// ChangeHost does what an admin asks of a host. What it names are states, so that a repeat changes nothing more.
func (b *Backend) ChangeHost(ctx context.Context, name string, change contract.HostChange) (v1.Host, error) {
	return b.updateHost(ctx, name, contract.UpdateChangeHost, change)
}

// AskHost forgets or adopts a host.
func (b *Backend) AskHost(ctx context.Context, name, update string) (v1.Host, error) {
	return b.updateHost(ctx, name, update, struct{}{})
}

func (b *Backend) updateHost(ctx context.Context, name, update string, argument any) (v1.Host, error) {
	within, cancel := context.WithTimeout(ctx, b.AnswerWithin)
	defer cancel()
	handle, err := b.Client.UpdateWorkflow(within, client.UpdateWorkflowOptions{
		WorkflowID: contract.HostID(name), UpdateName: update, Args: []any{argument},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	var host v1.Host
	if err == nil {
		err = handle.Get(within, &host)
	}
	switch {
	case err == nil:
		one := []v1.Host{host}
		b.complete(ctx, one)
		return one[0], nil
	case isNotFound(err):
		return host, notFound("host", name)
	case noAnswer(err):
		return host, contract.Retryable(v1.ReasonUnavailable, "check that a `berth server` runs, then repeat the request",
			"no control worker answered within %s", b.AnswerWithin)
	default:
		return host, fault(err)
	}
}
