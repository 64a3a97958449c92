package workload_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
	"github.com/berth-dev/berth/workflows/action"
	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/workload"
)

// fleet is the test environment of one workload, with a host whose steps the test can replace.
type fleet struct {
	*testsuite.TestWorkflowEnvironment
	t *testing.T
	// started, stopped and removed count what the host did.
	started, stopped, removed atomic.Int32
	start                     func(context.Context, contract.StepIn) (contract.StepOut, error)
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	f := &fleet{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), t: t}
	f.start = func(context.Context, contract.StepIn) (contract.StepOut, error) {
		return contract.StepOut{RuntimeID: "c1", Addresses: []string{"10.0.0.2"}}, nil
	}
	for name, w := range map[string]any{
		contract.WorkflowWorkload: workload.Workload,
		contract.WorkflowDeploy:   action.Deploy, contract.WorkflowStop: action.Stop, contract.WorkflowRemove: action.Remove,
	} {
		f.RegisterWorkflowWithOptions(w, workflow.RegisterOptions{Name: name})
	}
	f.activity(contract.ActivityPlace, func(context.Context, contract.PlaceIn) (contract.PlaceOut, error) {
		return contract.PlaceOut{Host: "h1", Instance: "i1"}, nil
	})
	f.activity(contract.ActivityBind, func(context.Context, contract.BindRequest) error { return nil })
	f.step(contract.StepPrepare, nil)
	f.activity("container.Start", func(ctx context.Context, in contract.StepIn) (contract.StepOut, error) {
		f.started.Add(1)
		return f.start(ctx, in)
	})
	f.step(contract.StepStop, &f.stopped)
	f.step(contract.StepRemove, &f.removed)
	f.OnSignalExternalWorkflow(mock.Anything, contract.HostID("h1"), "", mock.Anything, mock.Anything).Return(nil)
	harness.Unhurried(f.TestWorkflowEnvironment)
	return f
}

func (f *fleet) activity(name string, fn any) {
	f.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
}

func (f *fleet) step(s contract.Step, count *atomic.Int32) {
	f.activity(contract.ActivityName(v1.KindContainer, s), func(context.Context, contract.StepIn) (contract.StepOut, error) {
		if count != nil {
			count.Add(1)
		}
		return contract.StepOut{}, nil
	})
}

func web(image string) v1.Workload {
	return v1.Workload{
		APIVersion: v1.APIVersion, Kind: v1.KindContainer, Metadata: v1.Metadata{Name: "web"},
		Container: &v1.ContainerSpec{Image: image},
	}
}

func (f *fleet) run(timings contract.Timings) {
	f.ExecuteWorkflow(contract.WorkflowWorkload, workload.Input{
		Timings: timings, Apply: &contract.ApplyRequest{RequestID: "r1", Workload: web("a")},
	})
}

// after runs something at a time of the workflow's clock.
func (f *fleet) after(d time.Duration, do func()) { f.RegisterDelayedCallback(do, d) }

func (f *fleet) signal(verb v1.Verb) func() {
	return func() { f.SignalWorkflow(string(verb), nil) }
}

func (f *fleet) status() v1.Status {
	v, err := f.QueryWorkflow(contract.QueryWorkloadFull)
	require.NoError(f.t, err)
	var full contract.WorkloadFull
	require.NoError(f.t, v.Get(&full))
	return full.Status
}

func (f *fleet) expect(d time.Duration, phase v1.Phase) {
	f.after(d, func() { require.Equal(f.t, phase, f.status().Phase, "%+v", f.status()) })
}

func (f *fleet) closed() {
	f.t.Helper()
	require.True(f.t, f.IsWorkflowCompleted())
	require.NoError(f.t, f.GetWorkflowError())
}

func TestFromApplyToRunningToGone(t *testing.T) {
	f := newFleet(t)
	f.expect(time.Minute, v1.PhaseRunning)
	f.after(2*time.Minute, f.signal(v1.VerbRemove))
	f.run(contract.DefaultTimings())
	f.closed()
	require.EqualValues(t, 1, f.started.Load())
	require.EqualValues(t, 1, f.removed.Load())
}

func TestTheUpdateThatComesWithTheStartIsARepeat(t *testing.T) {
	f := newFleet(t)
	var answer contract.Accepted
	f.after(time.Minute, func() {
		f.UpdateWorkflow(contract.UpdateApply, "r1", &testsuite.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { require.NoError(t, err) },
			OnComplete: func(v any, err error) {
				require.NoError(t, err)
				answer = v.(contract.Accepted)
			},
		}, contract.ApplyRequest{RequestID: "r1", Workload: web("a")})
	})
	f.after(2*time.Minute, f.signal(v1.VerbRemove))
	f.run(contract.DefaultTimings())
	f.closed()
	require.Equal(t, contract.ChangedCreated, answer.Changed)
	require.EqualValues(t, 1, f.started.Load())
}

func TestStopSupersedesADeployThatHangs(t *testing.T) {
	f := newFleet(t)
	stopped := make(chan struct{})
	f.start = func(context.Context, contract.StepIn) (contract.StepOut, error) {
		<-stopped
		return contract.StepOut{}, temporal.NewCanceledError()
	}
	f.after(time.Second, func() {
		f.SignalWorkflow(string(v1.VerbStop), nil)
		close(stopped)
	})
	f.expect(time.Minute, v1.PhaseStopped)
	f.after(2*time.Minute, f.signal(v1.VerbRemove))
	f.run(contract.DefaultTimings())
	f.closed()
	require.EqualValues(t, 1, f.stopped.Load())
}

func TestAFailureIsShownAndTriedAgain(t *testing.T) {
	f := newFleet(t)
	f.start = func(context.Context, contract.StepIn) (contract.StepOut, error) {
		if f.started.Load() == 1 {
			return contract.StepOut{}, contract.AsActivityError(contract.Retryable(v1.ReasonPortConflict, "choose another", "port 80 is taken"))
		}
		return contract.StepOut{}, nil
	}
	f.after(500*time.Millisecond, func() {
		st := f.status()
		require.Equal(t, v1.ReasonPortConflict, st.Reason)
		require.Equal(t, "choose another", st.Advice)
		require.NotNil(t, st.NextTry)
	})
	f.expect(time.Minute, v1.PhaseRunning)
	f.after(2*time.Minute, f.signal(v1.VerbRemove))
	f.run(contract.DefaultTimings())
	f.closed()
	require.EqualValues(t, 2, f.started.Load())
}

func TestAMalformedSignalBecomesACondition(t *testing.T) {
	f := newFleet(t)
	f.after(time.Minute, func() { f.SignalWorkflow(string(v1.VerbStop), "not an object") })
	f.after(2*time.Minute, func() {
		st := f.status()
		require.Equal(t, v1.PhaseRunning, st.Phase)
		require.Len(t, st.Conditions, 1)
		require.Equal(t, v1.ReasonMalformedSignal, st.Conditions[0].Reason)
	})
	f.after(3*time.Minute, f.signal(v1.VerbRemove))
	f.run(contract.DefaultTimings())
	f.closed()
}

func TestANativeCancelIsShownAndIgnored(t *testing.T) {
	f := newFleet(t)
	f.after(time.Minute, f.CancelWorkflow)
	f.after(2*time.Minute, func() {
		st := f.status()
		require.Equal(t, v1.PhaseRunning, st.Phase)
		require.Len(t, st.Conditions, 1)
	})
	f.after(3*time.Minute, f.signal(v1.VerbRemove))
	f.run(contract.DefaultTimings())
	f.closed()
	require.EqualValues(t, 1, f.removed.Load())
}

func TestARunWithoutAValidSpecClosesAtOnce(t *testing.T) {
	f := newFleet(t)
	bad := web("a")
	bad.Container.Image = ""
	f.ExecuteWorkflow(contract.WorkflowWorkload, workload.Input{
		Timings: contract.DefaultTimings(), Apply: &contract.ApplyRequest{RequestID: "r1", Workload: bad},
	})
	f.closed()
	require.Zero(t, f.started.Load())
}

func TestItContinuesAsNewOnlyWhenIdle(t *testing.T) {
	f := newFleet(t)
	timings := contract.DefaultTimings()
	f.SetCurrentHistoryLength(timings.ContinueAsNewAt)
	f.after(2*time.Second, f.signal(v1.VerbStart)) // which changes nothing: the run is old enough by now
	f.run(timings)
	require.True(t, f.IsWorkflowCompleted())
	require.True(t, workflow.IsContinueAsNewError(f.GetWorkflowError()), "%v", f.GetWorkflowError())
	require.EqualValues(t, 1, f.started.Load(), "the deploy was carried through first")
}
