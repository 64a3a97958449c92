package step_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func started(runs *atomic.Int32) map[contract.Step]step.Func {
	return map[contract.Step]step.Func{
		contract.StepStart: func(ctx context.Context, c *step.Call) (contract.StepOut, error) {
			return contract.StepOut{}, c.Mutate(ctx, "test.start", func(context.Context) error { runs.Add(1); return nil })
		},
		contract.StepRemove: func(context.Context, *step.Call) (contract.StepOut, error) { return contract.StepOut{}, nil },
	}
}

func TestAStepWaitsUntilItsHostIsAMember(t *testing.T) {
	var runs atomic.Int32
	var member atomic.Bool
	h := newHost(t, started(&runs))
	h.runner.Member = func() bool {
		if runs.Load() == 0 && h.record().Fence == 0 {
			member.Store(true) // from the second look on
			return false
		}
		return true
	}
	asked := make(chan *contract.Error, 1)
	go func() {
		_, e := h.run(contract.StepStart, 7, true)
		asked <- e
	}()
	require.Eventually(t, member.Load, time.Minute, time.Millisecond)
	require.Zero(t, runs.Load())
	// A debt of a higher fence comes with the admission: the step comes too late.
	require.NoError(t, h.runner.Evict(t.Context(), nil, contract.Debt{Workload: "web", Fence: 9}))
	require.Equal(t, v1.ReasonStaleFence, (<-asked).Reason)
	require.Zero(t, runs.Load())
}

func TestAHostThatStoodStillChangesNothing(t *testing.T) {
	var runs atomic.Int32
	h := newHost(t, started(&runs))
	h.runner.MayAct = func() error { return contract.Retryable(v1.ReasonUnavailable, "a", "it stood still") }
	_, e := h.run(contract.StepStart, 7, true)
	require.Equal(t, v1.ReasonUnavailable, e.Reason)
	require.Zero(t, runs.Load())
	require.NoError(t, h.runner.Evict(t.Context(), kind{steps: h.steps}, contract.Debt{Workload: "web", Fence: 9}),
		"a debt is the fleet's last word")
	require.True(t, h.record().Tombstone())
}

func TestADebtOfWhatNeverCameLeavesATombstone(t *testing.T) {
	var runs atomic.Int32
	h := newHost(t, started(&runs))
	late := make(chan contract.LateStep, 1)
	h.runner.Late = func(l contract.LateStep) { late <- l }
	for _, fence := range []int64{9, 12, 10} {
		require.NoError(t, h.runner.Evict(t.Context(), nil, contract.Debt{Workload: "web", Fence: fence}))
	}
	require.True(t, h.record().Tombstone())
	require.EqualValues(t, 12, h.record().Fence)
	require.Equal(t, record.WantedRemoved, h.record().Wanted)

	_, e := h.run(contract.StepStart, 11, true)
	require.Equal(t, v1.ReasonStaleFence, e.Reason)
	require.EqualValues(t, 12, e.Seen)
	require.Equal(t, contract.LateStep{Workload: "web", Fence: 11, Step: contract.StepStart, Message: e.Message}, <-late)

	_, e = h.run(contract.StepStart, 13, true)
	require.Nil(t, e, "a later life of the name")
	require.EqualValues(t, 1, runs.Load())
}

// The host did what an earlier remove asked, and went away before it could tell.
func TestADebtOfWhatWasRemovedAlready(t *testing.T) {
	var removes []bool
	h := newHost(t, map[contract.Step]step.Func{
		contract.StepRemove: func(_ context.Context, c *step.Call) (contract.StepOut, error) {
			removes = append(removes, c.In.Volumes)
			if c.In.Volumes {
				return contract.StepOut{}, nil
			}
			return contract.StepOut{Kept: []string{"data"}}, nil
		},
	})
	_, e := h.run(contract.StepRemove, 7, true)
	require.Nil(t, e)
	evict := func(fence int64, volumes bool) record.Record {
		debt := contract.Debt{Workload: "web", Fence: fence, Volumes: volumes}
		require.NoError(t, h.runner.Evict(t.Context(), kind{steps: h.steps}, debt))
		require.True(t, h.record().Tombstone())
		return h.record()
	}
	rec := evict(9, false)
	require.Equal(t, []int64{9, 9}, []int64{rec.Fence, rec.Finished})
	require.Equal(t, []string{"data"}, rec.FinishedOut.Kept, "what the remove kept is still there")
	require.Equal(t, []bool{false}, removes)

	evict(8, true)
	require.Equal(t, []bool{false}, removes, "a later fence was seen")
	rec = evict(10, true)
	require.Equal(t, []bool{false, true}, removes, "the volumes are to go now")
	require.Empty(t, rec.FinishedOut.Kept)
	require.EqualValues(t, 10, rec.DropVolumes, "a sweep need not keep them")
}
