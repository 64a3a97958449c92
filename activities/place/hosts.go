package place

import (
	"context"
	"fmt"
	"sort"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// ListHosts reads the fleet's hosts from Visibility, by name. What it says may be some milliseconds old.
func ListHosts(ctx context.Context, c client.Client, data converter.DataConverter) ([]v1.Host, error) {
	var hosts []v1.Host
	var page []byte
	for {
		resp, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query:    fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running'", contract.WorkflowHost),
			PageSize: 200, NextPageToken: page,
		})
		if err != nil {
			return nil, fmt.Errorf("list the hosts: %w", err)
		}
		for _, e := range resp.GetExecutions() {
			var h v1.Host
			p := e.GetMemo().GetFields()[contract.MemoStatus]
			if p == nil || data.FromPayload(p, &h) != nil {
				continue // its first hello is under way
			}
			hosts = append(hosts, h)
		}
		if page = resp.GetNextPageToken(); len(page) == 0 {
			sort.Slice(hosts, func(i, j int) bool { return hosts[i].Name < hosts[j].Name })
			return hosts, nil
		}
	}
}
