package step_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// gate is open as long as the lease is live.
type gate struct {
	live    bool
	entered int
	left    []bool
	gone    []string
}

func (g *gate) MayStart(string) error {
	if g.live {
		return nil
	}
	return contract.Retryable(v1.ReasonHostOffline, "", "no lease")
}

func (g *gate) Enter(v1.Workload) (func(bool), error) {
	if err := g.MayStart(""); err != nil {
		return nil, err
	}
	g.entered++
	return func(started bool) { g.left = append(g.left, started) }, nil
}

func (g *gate) Gone(workload string) { g.gone = append(g.gone, workload) }

func TestAStrictStartNeedsTheLeaseToItsLastMoment(t *testing.T) {
	g := &gate{live: true}
	mutated, during := 0, func() {}
	h := newHost(t, map[contract.Step]step.Func{
		contract.StepStart: func(ctx context.Context, c *step.Call) (contract.StepOut, error) {
			during()
			return contract.StepOut{}, c.Mutate(ctx, "test.start", func(context.Context) error { mutated++; return nil })
		},
		contract.StepStop: func(ctx context.Context, c *step.Call) (contract.StepOut, error) {
			return contract.StepOut{}, c.Mutate(ctx, "test.stop", func(context.Context) error { mutated++; return nil })
		},
	})
	h.strict = true
	_, e := h.run(contract.StepStart, 7, true)
	require.Equal(t, v1.ReasonPolicyDenied, e.Reason, "this host takes nothing strict")
	require.Zero(t, h.record().Fence, "nothing was begun")

	h.runner.Strict = g
	_, e = h.run(contract.StepStart, 8, true)
	require.Nil(t, e)
	require.Equal(t, 1, mutated)
	require.Equal(t, []bool{true}, g.left)

	during = func() { g.live = false }
	_, e = h.run(contract.StepStart, 9, true)
	require.Equal(t, v1.ReasonHostOffline, e.Reason, "the lease ended between the step's begin and its mutation")
	require.Equal(t, 1, mutated)
	require.Equal(t, []bool{true, false}, g.left)

	_, e = h.run(contract.StepStart, 10, true)
	require.Equal(t, v1.ReasonHostOffline, e.Reason)
	require.Equal(t, 2, g.entered)

	_, e = h.run(contract.StepStop, 11, true)
	require.Nil(t, e, "a stop needs no lease")
	require.Equal(t, 2, mutated)
	require.Equal(t, []string{"web"}, g.gone)
}

func TestAStrictWorkloadIsNotStartedAgainWithoutTheLease(t *testing.T) {
	g := &gate{live: true}
	h := newHost(t, map[contract.Step]step.Func{
		contract.StepStart: func(context.Context, *step.Call) (contract.StepOut, error) { return contract.StepOut{}, nil },
	})
	h.strict, h.runner.Strict = true, g
	_, e := h.run(contract.StepStart, 7, true)
	require.Nil(t, e)
	restart := func() error {
		return h.runner.Restart(t.Context(), kind{}, "web", true, func(record.Record) bool { return true })
	}
	require.NoError(t, restart())
	g.live = false
	require.Equal(t, v1.ReasonHostOffline, contract.ReasonOf(restart()))
	require.Equal(t, 1, h.record().Restarts, "what was not tried is not counted")

	h.strict = false
	_, e = h.run(contract.StepStart, 8, true)
	require.Nil(t, e)
	require.Equal(t, []string{"web"}, g.gone, "it is strict no more")
}
