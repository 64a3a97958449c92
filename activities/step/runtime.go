// Package step runs the steps of actions on a host: it takes the workload's lock, checks the fence before each mutation,
// reports progress, and lets a retry join work that is still under way. A kind of workload supplies the work itself by
// implementing Runtime.
package step

import (
	"context"

	"github.com/berth-dev/berth/activities/record"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Func does one step. Exclusive steps (Create, Start, Stop, Remove, Acknowledge, Restart) run under the workload's lock;
// Prepare and AwaitReady do not, and must not mutate.
type Func func(ctx context.Context, c *Call) (contract.StepOut, error)

// Runtime is one kind of workload on this host. Implementations are safe for concurrent use by different workloads.
// Errors are *contract.Error, classified in the driver.
type Runtime interface {
	// Kind is the kind of workload that it runs.
	Kind() v1.Kind
	// Steps are the steps that it has, by name. See contract.Step for what each must do.
	Steps() map[contract.Step]Func
	// Restart starts a workload that ended by itself, as it is: the same container or domain. It runs under the lock.
	// It must not create anything; if there is nothing to start it fails with ReasonNotFound.
	Restart(ctx context.Context, c *Call) error
	// Observe looks at one workload. What the runtime says does not exist is RunAbsent; what could not be looked at is
	// an error, and changes nothing. For an exited one, Exit is set.
	Observe(ctx context.Context, r record.Record) (contract.Observation, error)
	// Watch calls changed with the name of each workload of this host whose state may have changed, until ctx ends or the
	// connection breaks; it is then called again. It calls changed("") once when it is connected: look at all.
	Watch(ctx context.Context, changed func(workload string)) error
	// Probe says whether the runtime can work, and why not. It returns within seconds.
	Probe(ctx context.Context) v1.Runtime
	// Logs returns the last lines of the workload's output, oldest first.
	Logs(ctx context.Context, r record.Record, tail int) ([]string, error)
}

// Mender is a Runtime that can put something right about a workload that runs, and does so where Observe says Mend.
type Mender interface {
	// Mend runs under the lock. It neither starts nor ends anything. done says in a few words what was wrong and was put right;
	// it is empty if nothing was.
	Mend(ctx context.Context, c *Call) (done string, err error)
}
