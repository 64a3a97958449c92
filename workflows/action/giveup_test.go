package action_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
	"github.com/berth-dev/berth/workflows/action"
	"github.com/berth-dev/berth/workflows/contract"
)

// removeFrom runs the removal of a workload from a host that does not answer for a day, and returns how it ended and after what
// time.
func removeFrom(t *testing.T, after func(*testsuite.TestWorkflowEnvironment)) (*contract.Error, time.Duration) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	harness.Unhurried(env)
	env.RegisterWorkflowWithOptions(action.Remove, workflow.RegisterOptions{Name: contract.WorkflowRemove})
	env.RegisterActivityWithOptions(func(context.Context, contract.StepIn) (contract.StepOut, error) { return contract.StepOut{}, nil },
		activity.RegisterOptions{Name: "container.Remove"})
	env.OnActivity("container.Remove", mock.Anything, mock.Anything).After(24*time.Hour).Return(contract.StepOut{}, nil)
	after(env)
	begin := env.Now()
	env.ExecuteWorkflow(contract.WorkflowRemove, contract.ActionIn{
		Ref:  contract.Ref{Workload: "web", Kind: v1.KindContainer, Fence: 7, Verb: v1.VerbRemove},
		Host: "h1", Instance: "i1", Timings: contract.DefaultTimings(),
		Spec: v1.Workload{APIVersion: v1.APIVersion, Kind: v1.KindContainer, Container: &v1.ContainerSpec{Image: "a"}},
	})
	require.True(t, env.IsWorkflowCompleted())
	return contract.FromActivityError(env.GetWorkflowError()), env.Now().Sub(begin)
}

// The test environment ends a step as soon as it is cancelled, which a host that is gone does not: here nothing is cancelled.
func TestAnActionThatIsGivenUpDoesNotWaitForItsHost(t *testing.T) {
	failure, took := removeFrom(t, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(contract.SignalGiveUp, nil) }, time.Hour)
	})
	require.Equal(t, v1.ReasonSuperseded, failure.Reason)
	require.Empty(t, failure.Step, "what came through is not known")
	require.Equal(t, time.Hour, took)
}

func TestAnActionThatIsNotGivenUpWaitsForItsHost(t *testing.T) {
	failure, took := removeFrom(t, func(*testsuite.TestWorkflowEnvironment) {})
	require.Nil(t, failure)
	require.Equal(t, 24*time.Hour, took)
}
