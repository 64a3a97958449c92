package step

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/berth-dev/berth/activities/failpoint"
	"github.com/berth-dev/berth/activities/record"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// beatEvery is how often progress is offered as a heartbeat; the SDK throttles what goes to the server.
	beatEvery = time.Second
	// lockWait is how long a step waits for an earlier one of the same workload to get out of the way.
	lockWait = 15 * time.Second
	// cancelWait is how long a cancelled activity waits for its work to stop.
	cancelWait = 20 * time.Second
)

var errShuttingDown = errors.New("the agent is stopping; the step goes on after its restart")

var exclusiveSteps = []contract.Step{
	contract.StepCreate, contract.StepStart, contract.StepStop, contract.StepRemove, contract.StepAcknowledge,
}

// Runner runs steps. Work is kept apart from the activity that asked for it: only a real cancel stops it. A lost heartbeat
// or a worker that stops leaves it running, and the activity's retry joins it.
type Runner struct {
	store *record.Store
	log   *slog.Logger
	Hooks

	base   context.Context //nolint:containedctx // the life of the process, which is what detached work belongs to
	cancel context.CancelCauseFunc

	mu  sync.Mutex
	ops map[opKey]*op
	wg  sync.WaitGroup
}

type opKey struct {
	workload string
	fence    int64
	step     contract.Step
	attempt  int
}

type op struct {
	call   *Call
	cancel context.CancelCauseFunc
	done   chan struct{}
	out    contract.StepOut
	err    error
}

// NewRunner returns a runner over the host's records.
func NewRunner(store *record.Store, log *slog.Logger) *Runner {
	base, cancel := context.WithCancelCause(context.Background())
	return &Runner{store: store, log: log, base: base, cancel: cancel, ops: map[opKey]*op{}, Hooks: noHooks()}
}

// Stop ends all work, which keeps its partial results, and waits until it is out of the drivers or ctx ends.
func (r *Runner) Stop(ctx context.Context) {
	r.cancel(errShuttingDown)
	idle := make(chan struct{})
	go func() { r.wg.Wait(); close(idle) }()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// Activity returns the activity function for one step of a kind.
func (r *Runner) Activity(rt Runtime, step contract.Step) func(context.Context, contract.StepIn) (contract.StepOut, error) {
	name := contract.ActivityName(rt.Kind(), step)
	work := rt.Steps()[step]
	return func(ctx context.Context, in contract.StepIn) (contract.StepOut, error) {
		failpoint.Hit(name+".begin", in.Ref.Workload)
		if err := r.awaitMember(ctx); err != nil {
			return contract.StepOut{}, contract.AsActivityError(err)
		}
		out, err := r.await(ctx, r.join(in, step, work, r.MayAct))
		failpoint.Hit(name+".end", in.Ref.Workload)
		if err != nil {
			r.log.Warn("step failed", attrs(ctx, in, name, "error", err)...)
			return out, contract.AsActivityError(err)
		}
		r.log.Info("step done", attrs(ctx, in, name)...)
		return out, nil
	}
}

func attrs(ctx context.Context, in contract.StepIn, name string, more ...any) []any {
	info := activity.GetInfo(ctx)
	return append([]any{
		"step", name, "workload", in.Ref.Workload, "fence", in.Ref.Fence, "verb", in.Ref.Verb,
		"action", info.WorkflowExecution.ID, "attempt", info.Attempt, "request", in.Ref.RequestID,
	}, more...)
}

// join finds the same step still under way, or starts it. Work of lower fences on the same workload is cancelled: whoever
// asked for it is gone.
func (r *Runner) join(in contract.StepIn, step contract.Step, work Func, mayAct func() error) *op {
	key := opKey{in.Ref.Workload, in.Ref.Fence, step, in.Ref.Attempt}
	r.mu.Lock()
	defer r.mu.Unlock()
	if running, ok := r.ops[key]; ok {
		return running
	}
	for k, other := range r.ops {
		if k.workload == key.workload && k.fence < key.fence {
			other.cancel(contract.StaleFence(k.fence, key.fence))
		}
	}
	ctx, cancel := context.WithCancelCause(r.base)
	o := &op{
		call: &Call{
			In: in, Dir: r.store.Dir(in.Ref.Workload), store: r.store,
			exclusive: slices.Contains(exclusiveSteps, step), mayAct: mayAct,
		},
		cancel: cancel, done: make(chan struct{}),
	}
	r.ops[key] = o
	r.wg.Add(1)
	go func() {
		defer r.wg.Done()
		o.out, o.err = r.run(ctx, o.call, step, work)
		r.mu.Lock()
		delete(r.ops, key)
		r.mu.Unlock()
		cancel(nil)
		close(o.done)
		if o.call.exclusive {
			r.Done(key.workload)
		}
		if e := contract.FromActivityError(o.err); e != nil && e.Reason == v1.ReasonStaleFence {
			r.Late(contract.LateStep{Workload: key.workload, Fence: key.fence, Step: step, Message: e.Message})
		}
	}()
	return o
}

// await heartbeats while the work goes on, and tells a real cancel from a worker that stops or a lost heartbeat.
func (r *Runner) await(ctx context.Context, o *op) (contract.StepOut, error) {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		select {
		case <-o.done:
			return o.out, o.err
		case <-ticker.C:
			activity.RecordHeartbeat(ctx, o.call.lastProgress())
		case <-activity.GetWorkerStopChannel(ctx):
			return contract.StepOut{}, contract.Retryable(v1.ReasonUnavailable, "it goes on when the agent is back", "%v", errShuttingDown)
		case <-ctx.Done():
			cause := context.Cause(ctx)
			if !temporal.IsCanceledError(cause) {
				return contract.StepOut{}, fmt.Errorf("the step runs on detached: %w", cause)
			}
			o.cancel(cause)
			select {
			case <-o.done:
				if o.err == nil {
					return o.out, nil // it was done before the cancel reached it
				}
			case <-time.After(cancelWait):
			}
			return contract.StepOut{}, cause
		}
	}
}

// run does the work under the lock and the fence.
func (r *Runner) run(ctx context.Context, c *Call, step contract.Step, work Func) (out contract.StepOut, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("step panicked", "workload", c.In.Ref.Workload, "step", step, "panic", p, "stack", string(debug.Stack()))
			err = contract.Retryable(v1.ReasonInternal, "report this with the agent's log", "the step panicked: %v", p)
		}
	}()
	if c.exclusive {
		unlock, err := r.store.Lock(ctx, c.In.Ref.Workload, lockWait)
		if err != nil {
			return out, err
		}
		defer unlock()
	}
	rec, err := r.store.Get(c.In.Ref.Workload)
	if err != nil {
		return out, err
	}
	done, err := rec.Admit(c.In, step)
	if err != nil {
		return out, err
	}
	if done != nil {
		return *done, nil
	}
	c.Record = rec
	if startsWorkload(step) {
		leave, refused := r.strictHere(c, c.In.Spec)
		if refused != nil {
			return out, refused
		}
		defer func() { leave(err == nil) }()
	}
	if c.exclusive && step != contract.StepAcknowledge {
		// What is wanted is on disk before the first mutation: a stop that is interrupted is never undone by a restart.
		c.Record = rec.Begin(c.In, step)
		if err := r.store.Put(c.Record); err != nil {
			return out, err
		}
	}
	out, err = work(ctx, c)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return out, cause // a driver's "context canceled" says less
		}
		return out, err
	}
	out.Bytes = c.bytes()
	r.strictOver(c, step)
	if step == contract.StepAcknowledge {
		return out, c.Save(func(rec *record.Record) { rec.Acked = max(rec.Acked, c.In.Ref.Attempt) })
	}
	if c.In.Last {
		return out, r.finish(ctx, c, step, out)
	}
	return out, nil
}

// finish marks the action as done on this host. A last step without the lock takes it only for this.
func (r *Runner) finish(ctx context.Context, c *Call, step contract.Step, out contract.StepOut) error {
	if !c.exclusive {
		unlock, err := r.store.Lock(ctx, c.In.Ref.Workload, lockWait)
		if err != nil {
			return err
		}
		defer unlock()
		if err := c.checkFence(); err != nil {
			return err
		}
	}
	return c.Save(func(rec *record.Record) { *rec = rec.Finish(step, out, time.Now()) })
}
