package backend

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// pollFresh is how old a worker's last poll may be: a poll lasts for a minute if there is no work.
const pollFresh = 90 * time.Second

// Checks says whether Temporal answers, whether what is in Config.Extra holds, and whether a control worker polls. The
// checks after one that failed are still made: all that is wrong is told at once.
func (b *Backend) Checks(ctx context.Context) []v1.Check {
	checks := append([]Check{{"temporal", b.checkTemporal}}, b.Extra...)
	checks = append(checks, Check{"worker", b.checkWorker})
	out := make([]v1.Check, 0, len(checks))
	for _, check := range checks {
		result := v1.Check{Name: check.Name, OK: true}
		if err := check.Run(ctx); err != nil {
			result.OK, result.Message = false, err.Error()
		}
		out = append(out, result)
	}
	return out
}

func (b *Backend) checkTemporal(ctx context.Context) error {
	_, err := b.Client.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err
}

func (b *Backend) checkWorker(ctx context.Context) error {
	queue, err := b.Client.DescribeTaskQueue(ctx, contract.ControlPlaneQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return err
	}
	for _, poller := range queue.GetPollers() {
		if time.Since(poller.GetLastAccessTime().AsTime()) < pollFresh {
			return nil
		}
	}
	return fmt.Errorf("no control worker polls the queue %s", contract.ControlPlaneQueue)
}
