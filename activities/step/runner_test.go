package step_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// kind is a runtime whose steps the test supplies. What is tested is the runner, over real records.
type kind struct {
	step.Runtime
	steps map[contract.Step]step.Func
}

func (kind) Kind() v1.Kind                             { return v1.KindContainer }
func (k kind) Steps() map[contract.Step]step.Func      { return k.steps }
func (kind) Restart(context.Context, *step.Call) error { return nil }

type host struct {
	t      *testing.T
	store  *record.Store
	runner *step.Runner
	steps  map[contract.Step]step.Func
	strict bool // what is run is
}

func newHost(t *testing.T, steps map[contract.Step]step.Func) *host {
	t.Helper()
	store, err := record.Open(t.TempDir(), "f", "h")
	require.NoError(t, err)
	h := &host{t: t, store: store, steps: steps}
	h.runner = step.NewRunner(store, slog.New(slog.DiscardHandler))
	return h
}

func (h *host) run(s contract.Step, fence int64, last bool) (contract.StepOut, *contract.Error) {
	// An environment for each: the SDK's is not made for two activities at a time.
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(5 * time.Minute)
	env.RegisterActivityWithOptions(h.runner.Activity(kind{steps: h.steps}, s), activity.RegisterOptions{Name: string(s)})
	v, err := env.ExecuteActivity(string(s), contract.StepIn{
		Ref:  contract.Ref{Workload: "web", Kind: v1.KindContainer, Generation: 1, Fence: fence},
		Spec: v1.Workload{APIVersion: v1.APIVersion, Kind: v1.KindContainer, Container: h.spec()}, Last: last,
	})
	var out contract.StepOut
	if err == nil {
		require.NoError(h.t, v.Get(&out))
	}
	return out, contract.FromActivityError(err)
}

func (h *host) spec() *v1.ContainerSpec {
	return &v1.ContainerSpec{Image: "i", Common: v1.Common{Strict: h.strict}}
}

func (h *host) record() record.Record {
	r, err := h.store.Get("web")
	require.NoError(h.t, err)
	return r
}

func TestAStepOpensAndTheLastFinishes(t *testing.T) {
	var runs int
	h := newHost(t, map[contract.Step]step.Func{
		contract.StepStart: func(ctx context.Context, c *step.Call) (contract.StepOut, error) {
			require.True(t, c.Record.Open, "what is wanted is on disk before the first mutation")
			require.Equal(t, record.WantedRunning, c.Record.Wanted)
			return contract.StepOut{RuntimeID: "c1"}, c.Mutate(ctx, "test.start", func(context.Context) error {
				runs++
				return nil
			})
		},
		contract.StepPrepare: func(context.Context, *step.Call) (contract.StepOut, error) { return contract.StepOut{}, nil },
	})
	_, e := h.run(contract.StepPrepare, 7, false)
	require.Nil(t, e)
	require.Zero(t, h.record().Fence, "preparing changes nothing")

	out, e := h.run(contract.StepStart, 7, true)
	require.Nil(t, e)
	require.Equal(t, "c1", out.RuntimeID)
	require.False(t, h.record().Open)

	out, e = h.run(contract.StepStart, 7, true)
	require.Nil(t, e, "a retry whose answer was lost gets the same one")
	require.Equal(t, "c1", out.RuntimeID)
	require.Equal(t, 1, runs)

	_, e = h.run(contract.StepPrepare, 7, false)
	require.Equal(t, v1.ReasonStaleFence, e.Reason)
	_, e = h.run(contract.StepStart, 6, true)
	require.Equal(t, v1.ReasonStaleFence, e.Reason)
	require.EqualValues(t, 7, e.Seen)
}

func TestAFailedStepLeavesTheActionOpen(t *testing.T) {
	h := newHost(t, map[contract.Step]step.Func{
		contract.StepStart: func(context.Context, *step.Call) (contract.StepOut, error) {
			return contract.StepOut{}, contract.Retryable(v1.ReasonPortConflict, "a", "m")
		},
	})
	_, e := h.run(contract.StepStart, 7, true)
	require.Equal(t, v1.ReasonPortConflict, e.Reason)
	require.True(t, h.record().Open, "the host restarts nothing by itself while an action is open")
}

func TestAPanicIsAnError(t *testing.T) {
	h := newHost(t, map[contract.Step]step.Func{
		contract.StepStart: func(context.Context, *step.Call) (contract.StepOut, error) { panic("boom") },
	})
	_, e := h.run(contract.StepStart, 7, true)
	require.Equal(t, v1.ReasonInternal, e.Reason)
	unlock, err := h.store.Lock(t.Context(), "web", time.Second)
	require.NoError(t, err, "the lock is free again")
	unlock()
}

func TestARetryJoinsWorkThatIsUnderWay(t *testing.T) {
	release := make(chan struct{})
	var runs atomic.Int32
	h := newHost(t, map[contract.Step]step.Func{
		contract.StepStart: func(context.Context, *step.Call) (contract.StepOut, error) {
			runs.Add(1)
			<-release
			return contract.StepOut{RuntimeID: "c1"}, nil
		},
	})
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			out, e := h.run(contract.StepStart, 7, true)
			require.Nil(t, e)
			require.Equal(t, "c1", out.RuntimeID)
		})
	}
	require.Eventually(t, func() bool { return runs.Load() == 1 }, time.Minute, time.Millisecond)
	close(release)
	both.Wait()
	require.EqualValues(t, 1, runs.Load())
}

func TestALaterActionCancelsDetachedWorkOfAnEarlierOne(t *testing.T) {
	var cause error
	h := newHost(t, map[contract.Step]step.Func{
		contract.StepStart: func(ctx context.Context, c *step.Call) (contract.StepOut, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return contract.StepOut{}, c.Mutate(ctx, "test.late", func(context.Context) error {
				t.Error("a superseded step mutated")
				return nil
			})
		},
		contract.StepStop: func(context.Context, *step.Call) (contract.StepOut, error) { return contract.StepOut{}, nil },
	})
	done := make(chan *contract.Error, 1)
	go func() {
		_, e := h.run(contract.StepStart, 7, true)
		done <- e
	}()
	require.Eventually(t, func() bool { return h.record().Fence == 7 }, time.Minute, time.Millisecond)
	_, e := h.run(contract.StepStop, 8, true)
	require.Nil(t, e)
	require.Equal(t, v1.ReasonStaleFence, (<-done).Reason)
	require.Equal(t, v1.ReasonStaleFence, contract.ReasonOf(cause))
	require.Equal(t, record.WantedStopped, h.record().Wanted)
}

func TestMutationsAreRefusedOutsideExclusiveSteps(t *testing.T) {
	h := newHost(t, map[contract.Step]step.Func{
		contract.StepPrepare: func(ctx context.Context, c *step.Call) (contract.StepOut, error) {
			return contract.StepOut{}, c.Mutate(ctx, "test.x", func(context.Context) error { return nil })
		},
	})
	_, e := h.run(contract.StepPrepare, 7, false)
	require.Equal(t, v1.ReasonInternal, e.Reason)
}

func TestARestartHappensOnlyWhileItIsStillWanted(t *testing.T) {
	h := newHost(t, map[contract.Step]step.Func{
		contract.StepStart: func(context.Context, *step.Call) (contract.StepOut, error) { return contract.StepOut{}, nil },
	})
	_, e := h.run(contract.StepStart, 7, true)
	require.Nil(t, e)
	restart := func(still bool) error {
		return h.runner.Restart(t.Context(), kind{}, "web", true, func(record.Record) bool { return still })
	}
	require.NoError(t, restart(false))
	require.Zero(t, h.record().Restarts)
	require.NoError(t, restart(true))
	require.Equal(t, 1, h.record().Restarts)
}

func TestAnExitIsKeptOnceAndForItsOwnFence(t *testing.T) {
	h := newHost(t, map[contract.Step]step.Func{
		contract.StepStart: func(context.Context, *step.Call) (contract.StepOut, error) { return contract.StepOut{}, nil },
	})
	_, e := h.run(contract.StepStart, 7, true)
	require.Nil(t, e)
	keep := func(fence int64, code int) error {
		return h.runner.KeepExit(t.Context(), "web", fence, contract.Exit{Code: code})
	}
	require.NoError(t, keep(6, 1))
	require.Nil(t, h.record().Exit)
	require.NoError(t, errors.Join(keep(7, 2), keep(7, 3)))
	require.Equal(t, 2, h.record().Exit.Code, "the first word stands")
}
