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

// deploy runs the action with these activities in the place of the ledger's and the host's.
func deploy(t *testing.T, bind func() error, prepare time.Duration) (*testsuite.TestWorkflowEnvironment, time.Duration) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	harness.Unhurried(env)
	env.RegisterWorkflowWithOptions(action.Deploy, workflow.RegisterOptions{Name: contract.WorkflowDeploy})
	env.RegisterActivityWithOptions(func(context.Context, contract.BindRequest) error { return contract.AsActivityError(bind()) },
		activity.RegisterOptions{Name: contract.ActivityBind})
	for _, name := range []string{"container.Prepare", "container.Start"} {
		env.RegisterActivityWithOptions(func(context.Context, contract.StepIn) (contract.StepOut, error) { return contract.StepOut{}, nil },
			activity.RegisterOptions{Name: name})
	}
	env.OnActivity("container.Prepare", mock.Anything, mock.Anything).After(prepare).Return(contract.StepOut{}, nil)
	begin := env.Now()
	env.ExecuteWorkflow(contract.WorkflowDeploy, contract.ActionIn{
		Ref:  contract.Ref{Workload: "web", Kind: v1.KindContainer, Fence: 7, Verb: v1.VerbDeploy},
		Host: "h1", Instance: "i1", Timings: contract.DefaultTimings(),
		Spec: v1.Workload{APIVersion: v1.APIVersion, Kind: v1.KindContainer, Container: &v1.ContainerSpec{Image: "a"}},
	})
	require.True(t, env.IsWorkflowCompleted())
	return env, env.Now().Sub(begin)
}

func TestARefusedBindDoesNotWaitForTheHost(t *testing.T) {
	gone := contract.Retryable(v1.ReasonHostOffline, "", "host h1 is Offline")
	env, took := deploy(t, func() error { return gone }, 24*time.Hour)
	failure := contract.FromActivityError(env.GetWorkflowError())
	require.Equal(t, v1.ReasonHostOffline, failure.Reason)
	require.Equal(t, contract.ActivityBind, failure.Step)
	require.Less(t, took, time.Minute)
}

func TestABoundDeployWaitsForThePreparation(t *testing.T) {
	env, took := deploy(t, func() error { return nil }, time.Hour)
	require.NoError(t, env.GetWorkflowError())
	require.GreaterOrEqual(t, took, time.Hour)
}
