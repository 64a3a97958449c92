// Package control is the control worker: it runs all workflows, and the activities that need no host.
package control

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/fx"

	"github.com/berth-dev/berth/activities/fleet"
	"github.com/berth-dev/berth/activities/place"
	"github.com/berth-dev/berth/workflows/action"
	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/host"
	"github.com/berth-dev/berth/workflows/logs"
	"github.com/berth-dev/berth/workflows/queue"
	"github.com/berth-dev/berth/workflows/sweep"
	"github.com/berth-dev/berth/workflows/workload"
)

// stopTimeout is how long work under way may take to end when the process is stopped. It is longer than any activity here
// runs without asking again.
const stopTimeout = 10 * time.Second

// stickyTimeout is how long a workflow's task waits for the worker that has it in its cache, before any takes it. When a
// replica was killed, those that it had answer this much later: it stays below what the API's callers wait for an answer.
const stickyTimeout = 3 * time.Second

// Pollers are the polls that a worker keeps waiting. A task that comes while one waits goes straight to it; else the server
// writes it down and reads it back: with 4 and 2 it did so with half of all, 12 % of its time. A waiting poll costs next to
// nothing.
const (
	workflowPollers = 20
	activityPollers = 8
)

// Module runs the control worker for the life of the application. It needs a client.Client, its converter.DataConverter
// and a *slog.Logger.
var Module = fx.Module("control",
	fx.Provide(func(c client.Client, data converter.DataConverter, log *slog.Logger) worker.Worker {
		return New(c, data, log)
	}),
	fx.Invoke(func(lc fx.Lifecycle, w worker.Worker) {
		lc.Append(fx.Hook{
			OnStart: func(context.Context) error { return w.Start() },
			OnStop:  func(context.Context) error { w.Stop(); return nil },
		})
	}),
)

// New returns the worker with everything registered; it polls once it is started.
func New(c client.Client, data converter.DataConverter, log *slog.Logger) worker.Worker {
	w := worker.New(c, contract.ControlPlaneQueue, worker.Options{
		WorkerStopTimeout:                stopTimeout,
		StickyScheduleToStartTimeout:     stickyTimeout,
		MaxHeartbeatThrottleInterval:     time.Second, // a placement's retry must know whom the last attempt asked
		MaxConcurrentWorkflowTaskPollers: workflowPollers,
		MaxConcurrentActivityTaskPollers: activityPollers,
	})
	RegisterWorkflows(w)
	p := &place.Activities{Client: c, Data: data, Log: log}
	w.RegisterActivityWithOptions(p.Place, activity.RegisterOptions{Name: contract.ActivityPlace})
	w.RegisterActivityWithOptions(p.Bind, activity.RegisterOptions{Name: contract.ActivityBind})
	w.RegisterActivityWithOptions(p.Evict, activity.RegisterOptions{Name: contract.ActivityEvict})
	w.RegisterActivityWithOptions(p.GrantLease, activity.RegisterOptions{Name: contract.ActivityGrantLease})
	f := &fleet.Activities{Client: c, Data: data}
	w.RegisterActivityWithOptions(f.Hosts, activity.RegisterOptions{Name: contract.ActivityFleetHosts})
	w.RegisterActivityWithOptions(f.Ledgers, activity.RegisterOptions{Name: contract.ActivityFleetLedgers})
	w.RegisterActivityWithOptions(f.Wants, activity.RegisterOptions{Name: contract.ActivityFleetWants})
	w.RegisterActivityWithOptions(f.Repair, activity.RegisterOptions{Name: contract.ActivityFleetRepair})
	return w
}

// RegisterWorkflows registers all workflows by their names. Replay tests use it too.
func RegisterWorkflows(r worker.WorkflowRegistry) {
	for name, w := range map[string]any{
		contract.WorkflowWorkload: workload.Workload,
		contract.WorkflowDeploy:   action.Deploy,
		contract.WorkflowStop:     action.Stop,
		contract.WorkflowRemove:   action.Remove,
		contract.WorkflowHost:     host.Host,
		contract.WorkflowLease:    host.Lease,
		contract.WorkflowLogs:     logs.Logs,
		contract.WorkflowQueue:    queue.Queue,

		contract.WorkflowSweep:          sweep.Sweep,
		contract.WorkflowScheduledSweep: sweep.ScheduledSweep,
	} {
		r.RegisterWorkflowWithOptions(w, workflow.RegisterOptions{Name: name})
	}
}
