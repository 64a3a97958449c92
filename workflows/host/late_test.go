package host_test

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
	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/host"
)

// An agent that stood still between its first beat and the word of it says so when its lease is over, and its host forgotten.
func TestALeaseThatIsOverIsNotTakenForLive(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	harness.Unhurried(env)
	env.RegisterWorkflowWithOptions(host.Host, workflow.RegisterOptions{Name: contract.WorkflowHost})
	env.RegisterActivityWithOptions(func(context.Context, contract.LeaseInput) error { return nil },
		activity.RegisterOptions{Name: contract.ActivityGrantLease})
	env.OnSignalExternalWorkflow(mock.Anything, contract.QueueID, "", contract.SignalRoom, mock.Anything).Return(nil)
	var shown []v1.HostState
	note := func() {
		var s host.State
		value, err := env.QueryWorkflow(contract.QueryHostFull)
		require.NoError(t, err)
		require.NoError(t, value.Get(&s))
		shown = append(shown, s.Phase)
	}
	live := func() { env.SignalWorkflow(contract.SignalLeaseLive, contract.LeaseLive{LeaseNo: 1}) }
	var welcome contract.Welcome
	var forgotten v1.Host
	for at, do := range []func(){
		func() {
			answer(t, env, contract.UpdateHello, contract.Hello{Host: "h1", Fleet: "f", Instance: "i1", Contract: contract.Number}, &welcome)
		},
		func() { env.SignalWorkflow(contract.SignalLeaseEnded, contract.LeaseEnded{LeaseNo: 1, RanOut: true}) },
		live, note,
		func() { answer(t, env, contract.UpdateForget, struct{}{}, &forgotten) },
		live, note,
	} {
		env.RegisterDelayedCallback(do, time.Duration(at+1)*time.Second)
	}
	env.ExecuteWorkflow(contract.WorkflowHost, host.Input{Timings: contract.DefaultTimings()})
	require.Equal(t, []v1.HostState{v1.HostOffline, v1.HostForgotten}, shown)
}
