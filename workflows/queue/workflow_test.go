package queue_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/queue"
)

func TestTheQueueEndsWhenNobodyWaits(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	harness.Unhurried(env)
	env.RegisterWorkflowWithOptions(queue.Queue, workflow.RegisterOptions{Name: contract.WorkflowQueue})
	waiter := func(name string, since time.Duration) contract.Waiter {
		return contract.Waiter{
			Workload: name, Fence: 1, Since: env.Now().Add(-since), Needs: contract.Needs{Kind: v1.KindContainer},
		}
	}
	var woken []string
	for _, w := range []struct {
		name string
		err  error
	}{{"gone", errors.New("no such workflow")}, {"here", nil}} {
		env.OnSignalExternalWorkflow(mock.Anything, contract.WorkloadID(w.name), "", contract.SignalWake, mock.Anything).
			Run(func(mock.Arguments) { woken = append(woken, w.name) }).Return(w.err).Once()
	}
	env.RegisterDelayedCallback(func() {
		env.SignalWorkflow(contract.SignalEnqueue, waiter("gone", time.Hour))
		env.SignalWorkflow(contract.SignalEnqueue, waiter("here", time.Minute))
		env.SignalWorkflow(contract.SignalRoom, contract.Room{Host: "h1", Kinds: []v1.Kind{v1.KindContainer}})
	}, 0) // it comes with the start
	env.RegisterDelayedCallback(func() {
		env.SignalWorkflow(contract.SignalLeave, contract.LeaveQueue{Workload: "here", Fence: 1})
	}, 2*time.Second)
	env.ExecuteWorkflow(contract.WorkflowQueue, queue.Input{ContinueAsNewAt: 500})
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"gone", "here"}, woken, "one that is gone holds nobody up")
}

// A refusal that crosses the news of a release says nothing of what was released.
func TestARefusalOfAnEarlierRoomHoldsNobodyUp(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	harness.Unhurried(env)
	env.RegisterWorkflowWithOptions(queue.Queue, workflow.RegisterOptions{Name: contract.WorkflowQueue})
	waiter := contract.Waiter{
		Workload: "waits", Fence: 1, Since: env.Now(), Needs: contract.Needs{Kind: v1.KindContainer, Ports: []contract.PortClaim{{Port: 80, Protocol: "tcp"}}},
	}
	room := contract.Room{Host: "h1", Kinds: []v1.Kind{v1.KindContainer}}
	woken := 0
	env.OnSignalExternalWorkflow(mock.Anything, contract.WorkloadID("waits"), "", contract.SignalWake, mock.Anything).
		Run(func(mock.Arguments) { woken++ }).Return(nil)
	env.RegisterDelayedCallback(func() {
		env.SignalWorkflow(contract.SignalEnqueue, waiter)
		env.SignalWorkflow(contract.SignalRoom, room)
	}, 0)
	env.RegisterDelayedCallback(func() {
		require.Equal(t, 1, woken)
		env.SignalWorkflow(contract.SignalRoom, room) // the port is free now
		env.SignalWorkflow(contract.SignalEnqueue, waiter)
	}, time.Second)
	env.RegisterDelayedCallback(func() {
		require.Equal(t, 2, woken, "it is woken for the new room")
		env.SignalWorkflow(contract.SignalEnqueue, waiter)
	}, 2*time.Second)
	env.RegisterDelayedCallback(func() {
		require.Equal(t, 2, woken, "what it was refused now holds")
		env.SignalWorkflow(contract.SignalLeave, contract.LeaveQueue{Workload: "waits", Fence: 1})
	}, 3*time.Second)
	env.ExecuteWorkflow(contract.WorkflowQueue, queue.Input{ContinueAsNewAt: 500})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 2, woken)
}
