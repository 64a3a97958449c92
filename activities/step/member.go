package step

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// memberWait is how long a step that came waits for its host to be admitted, memberPoll how often it looks.
	memberWait = 30 * time.Second
	memberPoll = 20 * time.Millisecond
)

// Hooks are what a runner asks and tells its host.
type Hooks struct {
	// Member reports whether the host is a member of the fleet now. A step that comes waits for it: it may have been on its
	// way for longer than the host was taken to live, and the host may have to hear first what was decided since.
	Member func() bool
	// MayAct says why the host must not change anything now, or nil. It is asked immediately before each mutation.
	MayAct func() error
	// Late is told of each step that was refused because a later action was seen.
	Late func(contract.LateStep)
	// Done is called after every exclusive step, so that the workload is looked at again.
	Done func(workload string)
	// Strict is nil on a host that takes no strict workloads.
	Strict Strict
}

// noHooks are those of a runner whose host has nothing to say.
func noHooks() Hooks {
	return Hooks{
		Member: func() bool { return true }, MayAct: func() error { return nil },
		Late: func(contract.LateStep) {}, Done: func(string) {},
	}
}

// awaitMember waits until the host is a member. It fails if that takes too long, or if nobody wants the step any more.
func (r *Runner) awaitMember(ctx context.Context) error {
	if r.Member() {
		return nil
	}
	poll, beat, over := time.NewTicker(memberPoll), time.NewTicker(beatEvery), time.NewTimer(memberWait)
	defer poll.Stop()
	defer beat.Stop()
	defer over.Stop()
	for {
		select {
		case <-poll.C:
			if r.Member() {
				return nil
			}
		case <-beat.C:
			activity.RecordHeartbeat(ctx)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-activity.GetWorkerStopChannel(ctx):
			return contract.Retryable(v1.ReasonUnavailable, "it goes on when the agent is back", "%v", errShuttingDown)
		case <-over.C:
			return contract.Retryable(v1.ReasonUnavailable, "look at the agent's log", "the agent has no lease, and starts nothing")
		}
	}
}
