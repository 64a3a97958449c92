package entity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/berth-dev/berth/tests/harness"
	"github.com/berth-dev/berth/workflows/entity"
)

const (
	ping  = "ping"
	limit = 50
)

// run executes a workflow that takes pings and wants to look again some time after each, until it continues as new. It
// returns when it looked, as time since its start.
func run(t *testing.T, again time.Duration, prepare func(env *testsuite.TestWorkflowEnvironment)) (looked []time.Duration) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	harness.Unhurried(env)
	env.RegisterWorkflow(entityWorkflow)
	prepare(env)
	env.ExecuteWorkflow(entityWorkflow, again)
	require.True(t, workflow.IsContinueAsNewError(env.GetWorkflowError()), "%v", env.GetWorkflowError())
	value, err := env.QueryWorkflow("looked")
	require.NoError(t, err)
	require.NoError(t, value.Get(&looked))
	return looked
}

func entityWorkflow(ctx workflow.Context, again time.Duration) error {
	loop := entity.New(ctx, limit)
	start := workflow.Now(ctx)
	var looked []time.Duration
	if err := workflow.SetQueryHandler(ctx, "looked", func() ([]time.Duration, error) { return looked, nil }); err != nil {
		return err
	}
	var due time.Time
	entity.Signal(loop, ping, func(int) { due = workflow.Now(ctx).Add(again) })
	for !loop.ShouldContinueAsNew() {
		if err := loop.Wait(due); err != nil {
			return err
		}
		looked = append(looked, workflow.Now(ctx).Sub(start))
		if !workflow.Now(ctx).Before(due) {
			due = time.Time{}
		}
	}
	return workflow.NewContinueAsNewError(ctx, entityWorkflow, again)
}

func pingAt(env *testsuite.TestWorkflowEnvironment, at ...time.Duration) {
	for _, d := range at {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(ping, 1) }, d)
	}
}

func TestAYoungRunDoesNotContinueAsNew(t *testing.T) {
	looked := run(t, time.Hour, func(env *testsuite.TestWorkflowEnvironment) {
		env.SetCurrentHistoryLength(limit)
		pingAt(env, 100*time.Millisecond, 900*time.Millisecond, 1100*time.Millisecond)
	})
	require.Equal(t, 1100*time.Millisecond, looked[len(looked)-1])
}

func TestTheServersWishToContinueAsNewIsHeardAtAnyAge(t *testing.T) {
	looked := run(t, time.Hour, func(env *testsuite.TestWorkflowEnvironment) {
		env.SetContinueAsNewSuggested(true)
		pingAt(env, 100*time.Millisecond)
	})
	require.Less(t, looked[len(looked)-1], time.Second)
}

func TestOneTimerServesManyDeadlines(t *testing.T) {
	timers := 0
	looked := run(t, 10*time.Second, func(env *testsuite.TestWorkflowEnvironment) {
		env.SetOnTimerScheduledListener(func(_ string, d time.Duration) {
			if d == 10*time.Second || d == 9*time.Second {
				timers++
			}
		})
		for i := range 10 {
			pingAt(env, time.Second+time.Duration(i)*100*time.Millisecond)
		}
		env.RegisterDelayedCallback(func() {
			env.SetCurrentHistoryLength(limit)
			env.SignalWorkflow(ping, 1)
		}, 30*time.Second)
	})
	require.Contains(t, looked, 11*time.Second, "the first deadline's timer is kept")
	require.Contains(t, looked, 11900*time.Millisecond, "and the last deadline is kept as well")
	require.LessOrEqual(t, timers, 2, "%v", looked)
}
