package host_test

import (
	"context"
	"errors"
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

func leaseEnv(t *testing.T) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	harness.Unhurried(env)
	env.RegisterWorkflowWithOptions(host.Lease, workflow.RegisterOptions{Name: contract.WorkflowLease})
	return env
}

func leaseInput(no int64) contract.LeaseInput {
	return contract.LeaseInput{Host: "h1", Instance: "i1", LeaseNo: no, Timings: contract.DefaultTimings()}
}

func holdBy(env *testsuite.TestWorkflowEnvironment, hold func(context.Context, contract.HoldLeaseIn) (contract.HoldLeaseOut, error)) {
	env.RegisterActivityWithOptions(hold, activity.RegisterOptions{Name: contract.ActivityHoldLease})
}

func TestALeaseThatRunsOutIsTold(t *testing.T) {
	env := leaseEnv(t)
	tries := 0
	holdBy(env, func(context.Context, contract.HoldLeaseIn) (contract.HoldLeaseOut, error) {
		tries++
		return contract.HoldLeaseOut{}, errors.New("lost")
	})
	env.OnSignalExternalWorkflow(mock.Anything, contract.HostID("h1"), "", contract.SignalLeaseEnded,
		mock.MatchedBy(func(e contract.LeaseEnded) bool { return e.LeaseNo == 4 && !e.Left && e.Message != "" })).Return(nil).Once()
	env.ExecuteWorkflow(contract.WorkflowLease, leaseInput(4))
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 1, tries, "a lease is never retried: its end is the message")
	env.AssertExpectations(t)
}

func TestAGoodbyeIsTold(t *testing.T) {
	env := leaseEnv(t)
	holdBy(env, func(context.Context, contract.HoldLeaseIn) (contract.HoldLeaseOut, error) {
		return contract.HoldLeaseOut{Left: true}, nil
	})
	env.OnSignalExternalWorkflow(mock.Anything, contract.HostID("h1"), "", contract.SignalLeaseEnded,
		mock.MatchedBy(func(e contract.LeaseEnded) bool { return e.Left })).Return(nil).Once()
	env.ExecuteWorkflow(contract.WorkflowLease, leaseInput(4))
	require.NoError(t, env.GetWorkflowError())
	env.AssertExpectations(t)
}

func TestTheNextLeaseTakesTheOlderOnesPlace(t *testing.T) {
	env := leaseEnv(t)
	later := make(chan struct{})
	holdBy(env, func(_ context.Context, in contract.HoldLeaseIn) (contract.HoldLeaseOut, error) {
		if in.LeaseNo == 4 {
			<-later
		}
		return contract.HoldLeaseOut{Left: true}, nil
	})
	env.RegisterDelayedCallback(func() {
		env.SignalWorkflow(contract.SignalLeaseRenew, leaseInput(3)) // of the past
		env.SignalWorkflow(contract.SignalLeaseRenew, leaseInput(5))
		close(later)
	}, time.Second)
	env.OnSignalExternalWorkflow(mock.Anything, contract.HostID("h1"), "", contract.SignalLeaseEnded,
		mock.MatchedBy(func(e contract.LeaseEnded) bool { return e.LeaseNo == 5 })).Return(nil).Once()
	env.ExecuteWorkflow(contract.WorkflowLease, leaseInput(4))
	require.NoError(t, env.GetWorkflowError())
	env.AssertExpectations(t)
}

// answer calls an update of Host and keeps what it said.
func answer[Out any](t *testing.T, env *testsuite.TestWorkflowEnvironment, name string, in any, out *Out) {
	t.Helper()
	env.UpdateWorkflow(name, name+time.Now().String(), &testsuite.TestUpdateCallback{
		OnAccept: func() {}, OnReject: func(err error) { require.NoError(t, err) },
		OnComplete: func(v any, err error) {
			require.NoError(t, err)
			if got, ok := v.(Out); ok {
				*out = got
			}
		},
	}, in)
}

func TestHostFromHelloToGrant(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	harness.Unhurried(env)
	env.RegisterWorkflowWithOptions(host.Host, workflow.RegisterOptions{Name: contract.WorkflowHost})
	var granted contract.LeaseInput
	env.RegisterActivityWithOptions(func(_ context.Context, in contract.LeaseInput) error {
		granted = in
		return nil
	}, activity.RegisterOptions{Name: contract.ActivityGrantLease})
	h := contract.Hello{
		Host: "h1", Fleet: "f", Instance: "i1", Contract: contract.Number, Capacity: v1.Amounts{Memory: 100},
		Runtimes: []v1.Runtime{{Name: "docker", Kinds: []v1.Kind{v1.KindContainer}, Ready: true}},
	}
	req := contract.ReserveRequest{Workload: "web", Fence: 7, Passed: true, Needs: contract.Needs{Kind: v1.KindContainer, Amount: v1.Amounts{Memory: 60}}}
	var welcome contract.Welcome
	var early, reply, other contract.ReserveReply
	env.RegisterDelayedCallback(func() { answer(t, env, contract.UpdateHello, h, &welcome) }, time.Second)
	env.RegisterDelayedCallback(func() { answer(t, env, contract.UpdateReserve, req, &early) }, 2*time.Second)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(contract.SignalLeaseLive, contract.LeaseLive{LeaseNo: 1}) }, 3*time.Second)
	env.OnSignalExternalWorkflow(mock.Anything, contract.QueueID, "", contract.SignalRoom, mock.Anything).Return(nil)
	env.RegisterDelayedCallback(func() { answer(t, env, contract.UpdateReserve, req, &reply) }, 4*time.Second)
	// The grant lapses unless it is bound, and makes room for another.
	req2 := req
	req2.Workload = "db"
	env.RegisterDelayedCallback(func() { answer(t, env, contract.UpdateReserve, req2, &other) }, time.Minute)
	env.SetCurrentHistoryLength(10)
	env.RegisterDelayedCallback(func() {
		env.SetCurrentHistoryLength(1000)
		env.SignalWorkflow(contract.SignalRelease, contract.ReleaseRequest{Workload: "x", Fence: 1})
	}, 2*time.Minute)
	env.ExecuteWorkflow(contract.WorkflowHost, host.Input{Timings: contract.DefaultTimings()})
	require.True(t, workflow.IsContinueAsNewError(env.GetWorkflowError()), "%v", env.GetWorkflowError())

	require.EqualValues(t, 1, welcome.LeaseNo)
	require.Equal(t, "i1", granted.Instance)
	require.Equal(t, v1.ReasonHostOffline, early.Reason, "no grant before the lease is live")
	require.True(t, reply.Granted)
	require.True(t, other.Granted)
	env.AssertExpectations(t)
}
