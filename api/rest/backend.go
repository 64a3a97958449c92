package rest

import (
	"context"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Backend is what the handlers stand on. Its failures are *contract.Error or v1.FieldErrors; anything else is answered
// as an internal error. Every method keeps to the context's deadline.
type Backend interface {
	// Apply records a valid workload with defaults filled in as wanted.
	Apply(ctx context.Context, w *v1.Workload, o Request) (Applied, error)
	// DryRun says what Apply would do.
	DryRun(ctx context.Context, w *v1.Workload, o Request) (v1.Accepted, error)
	// Do records start, stop, restart, retry or remove.
	Do(ctx context.Context, name string, verb v1.Verb, o Request) (v1.Accepted, error)
	// Workload returns one workload. Without secrets, the secret values of its spec are replaced.
	Workload(ctx context.Context, name string, secrets bool) (v1.View, error)
	// Workloads returns one page of workloads.
	Workloads(ctx context.Context, q WorkloadQuery) (v1.WorkloadList, error)
	// Logs returns the last lines that a workload wrote.
	Logs(ctx context.Context, name string, tail int) (v1.Logs, error)
	// Host returns one host.
	Host(ctx context.Context, name string) (v1.Host, error)
	// ChangeHost does what an admin asks of a host, and returns it as it is then.
	ChangeHost(ctx context.Context, name string, change contract.HostChange) (v1.Host, error)
	// AskHost sends an update without arguments to a host: contract.UpdateForget or UpdateAdopt.
	AskHost(ctx context.Context, name, update string) (v1.Host, error)
	// Hosts returns one page of hosts.
	Hosts(ctx context.Context, page Page) (v1.HostList, error)
	// Actions returns one page of actions, newest first.
	Actions(ctx context.Context, q ActionQuery) (v1.ActionList, error)
	// Action returns one action with its steps.
	Action(ctx context.Context, id string) (v1.ActionView, error)
	// StartSweep starts a sweep, unless one runs: then it is refused as v1.ReasonSweepRunning. A repeat with the same key
	// returns the sweep that it started.
	StartSweep(ctx context.Context, r v1.SweepRequest, key string) (v1.Sweep, error)
	// Sweep returns one sweep, with a page of its things. An empty id is the latest.
	Sweep(ctx context.Context, id string, page Page) (v1.Sweep, error)
	// SweepSchedule returns when sweeps run by themselves, ChangeSweepSchedule changes that.
	SweepSchedule(ctx context.Context) (v1.SweepSchedule, error)
	ChangeSweepSchedule(ctx context.Context, change v1.SweepScheduleChange) (v1.SweepSchedule, error)
	// Events returns one page of a workload's events, oldest first; the first page has the last ones.
	Events(ctx context.Context, name string, page Page) (v1.EventList, error)
	// Watch returns what streams a workload's events: those after the one with the id after or, if that is empty, the last
	// few and then whatever happens. It is nil if nothing can follow any more.
	Watch(ctx context.Context, name, after string, tail int) (Watch, error)
	// Checks says what is in order and what is not.
	Checks(ctx context.Context) []v1.Check
}

// Watch hands out events as they happen, until ctx ends, emit fails, or nothing can follow any more.
type Watch func(ctx context.Context, emit func(v1.Event) error) error

// Request is what comes with a request that changes something.
type Request struct {
	// ID is the caller's Idempotency-Key, or a random one.
	ID string
	// IfGeneration, if set, must be the current generation.
	IfGeneration *int64
	// Force, with remove, does not wait for a host that is away.
	Force bool
	// Volumes, with remove, removes named volumes too.
	Volumes bool
	// MustExist refuses to create.
	MustExist bool
}

// Applied is how an apply was recorded.
type Applied struct {
	v1.Accepted
	// Started is true if a new workload was begun but no worker has answered yet: it runs as soon as one does.
	Started bool
}

// Page asks for one page of a list.
type Page struct {
	// Size is at most MaxPageSize.
	Size int
	// Token is the NextPageToken of the page before, empty for the first.
	Token string
}

// WorkloadQuery picks workloads. Empty fields pick all. All values are safe within a query.
type WorkloadQuery struct {
	Page
	Kind   v1.Kind
	Phase  v1.Phase
	Host   string
	Labels v1.LabelSelector
}

// ActionQuery picks actions. Empty fields pick all. All values are safe within a query.
type ActionQuery struct {
	Page
	Workload string
	Verb     v1.Verb
	Outcome  v1.Outcome
	Host     string
	// Since and Until bound when they started, both included.
	Since, Until time.Time
}
