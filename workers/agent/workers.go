package agent

import (
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/berth-dev/berth/workflows/contract"
)

// controlSlots is how many steps the control queue runs at a time: most of them wait.
const controlSlots = 500

// newWorkers returns the workers of the host's two queues, with every step of every kind registered on both.
func newWorkers(a *Agent) []worker.Worker {
	common := worker.Options{
		DisableWorkflowWorker:            true,
		WorkerStopTimeout:                stopTimeout,
		MaxConcurrentActivityTaskPollers: 1,
		// The SDK cancels an activity whose heartbeat call fails for this long.
		MaxHeartbeatThrottleInterval: contract.MaxHeartbeatThrottle,
	}
	control, bulk := common, common
	control.MaxConcurrentActivityExecutionSize = controlSlots
	control.MaxConcurrentActivityTaskPollers = 2
	bulk.MaxConcurrentActivityExecutionSize = a.cfg.MaxConcurrentCreates
	workers := []worker.Worker{
		worker.New(a.client, contract.HostControlQueue(a.cfg.Host, a.instance), control),
		worker.New(a.client, contract.HostBulkQueue(a.cfg.Host, a.instance), bulk),
	}
	workers[0].RegisterActivityWithOptions(a.holder.HoldLease, activity.RegisterOptions{Name: contract.ActivityHoldLease})
	workers[0].RegisterActivityWithOptions(a.inventory.Inventory, activity.RegisterOptions{Name: contract.ActivityInventory})
	workers[0].RegisterActivityWithOptions(a.inventory.Discard, activity.RegisterOptions{Name: contract.ActivityDiscard})
	workers[0].RegisterActivityWithOptions(a.inventory.Adopt, activity.RegisterOptions{Name: contract.ActivityAdopt})
	for _, rt := range a.runtimes {
		workers[0].RegisterActivityWithOptions(a.runner.Logs(rt),
			activity.RegisterOptions{Name: contract.ActivityName(rt.Kind(), contract.StepLogs)})
		for s := range rt.Steps() {
			for _, w := range workers {
				w.RegisterActivityWithOptions(a.runner.Activity(rt, s), activity.RegisterOptions{Name: contract.ActivityName(rt.Kind(), s)})
			}
		}
	}
	return workers
}
