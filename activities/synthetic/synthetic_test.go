package synthetic_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	"github.com/berth-dev/berth/activities/supervise"
	"github.com/berth-dev/berth/activities/synthetic"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// host runs steps as an agent does: over a runner, records and a supervisor.
type host struct {
	t      *testing.T
	kind   v1.Kind
	store  *record.Store
	runner *step.Runner
	rt     *synthetic.Runtime
	spec   v1.Workload
	told   chan contract.Observation
}

type member struct{}

func (member) LeaseNo() int64 { return 1 }

func newHost(t *testing.T, spec v1.Workload, cfg synthetic.Config) *host {
	t.Helper()
	store, err := record.Open(t.TempDir(), "f", "h", record.Volatile())
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	spec.APIVersion, spec.Metadata.Name = v1.APIVersion, "web"
	spec.Default()
	h := &host{
		t: t, kind: spec.Kind, store: store, runner: step.NewRunner(store, log), spec: spec,
		rt: synthetic.New(spec.Kind, "h", cfg), told: make(chan contract.Observation, 100),
	}
	s := supervise.New(supervise.Config{
		Host: "h", BootID: "b", Store: store, Runner: h.runner, Runtimes: []step.Runtime{h.rt}, Member: member{},
		Admitted: func() bool { return true }, Log: log,
		Send: func(_ context.Context, _ string, o contract.Observation) error { h.told <- o; return nil },
	})
	h.runner.Done = s.Look
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return h
}

func service() v1.Workload {
	return v1.Workload{Kind: v1.KindContainer, Container: &v1.ContainerSpec{Image: "i"}}
}

func job() v1.Workload {
	w := service()
	w.Container.Type, w.Container.Job = v1.TypeJob, &v1.JobPolicy{MaxAttempts: 2}
	return w
}

func machine() v1.Workload { return v1.Workload{Kind: v1.KindVM, VM: &v1.VMSpec{}} }

func (h *host) run(s contract.Step, ref contract.Ref, last bool) (contract.StepOut, *contract.Error) {
	h.t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(5 * time.Minute)
	env.RegisterActivityWithOptions(h.runner.Activity(h.rt, s), activity.RegisterOptions{Name: string(s)})
	ref.Workload, ref.Kind = "web", h.kind
	v, err := env.ExecuteActivity(string(s), contract.StepIn{Ref: ref, Spec: h.spec, Last: last})
	var out contract.StepOut
	if err == nil {
		require.NoError(h.t, v.Get(&out))
	}
	return out, contract.FromActivityError(err)
}

func (h *host) must(s contract.Step, ref contract.Ref) contract.StepOut {
	h.t.Helper()
	out, err := h.run(s, ref, true)
	require.Nil(h.t, err)
	return out
}

func (h *host) observe() contract.Observation {
	h.t.Helper()
	rec, err := h.store.Get("web")
	require.NoError(h.t, err)
	o, err := h.rt.Observe(h.t.Context(), rec)
	require.NoError(h.t, err)
	return o
}

// await waits until the supervisor tells of a state.
func (h *host) await(state contract.RunState) contract.Observation {
	h.t.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case o := <-h.told:
			if o.State == state {
				return o
			}
		case <-deadline:
			require.FailNow(h.t, "nobody told of it", "%s", state)
		}
	}
}

func TestAServiceLives(t *testing.T) {
	for _, spec := range []v1.Workload{service(), machine()} {
		t.Run(string(spec.Kind), func(t *testing.T) {
			h := newHost(t, spec, synthetic.Config{})
			require.Equal(t, contract.RunAbsent, h.observe().State)
			deploy := func(ref contract.Ref) contract.StepOut {
				_, err := h.run(contract.StepPrepare, ref, false)
				require.Nil(t, err)
				steps := contract.DeploySteps(h.spec)
				var out contract.StepOut
				for i, s := range steps {
					out, err = h.run(s.Step, ref, i == len(steps)-1)
					require.Nil(t, err)
				}
				return out
			}
			first := deploy(contract.Ref{Generation: 1, Fence: 1, Verb: v1.VerbDeploy})
			require.NotEmpty(t, first.RuntimeID)
			require.Equal(t, contract.RunRunning, h.observe().State)

			again := deploy(contract.Ref{Generation: 1, Fence: 2, Verb: v1.VerbDeploy})
			require.Equal(t, first.RuntimeID, again.RuntimeID)
			require.True(t, first.StartedAt.Equal(again.StartedAt), "what runs is kept")
			restarted := deploy(contract.Ref{Generation: 1, Fence: 3, Verb: v1.VerbRestart})
			require.Equal(t, first.RuntimeID, restarted.RuntimeID)
			require.True(t, restarted.StartedAt.After(first.StartedAt))
			updated := deploy(contract.Ref{Generation: 2, Fence: 4, Verb: v1.VerbDeploy})
			require.NotEqual(t, first.RuntimeID, updated.RuntimeID)

			h.must(contract.StepStop, contract.Ref{Generation: 2, Fence: 5, Verb: v1.VerbStop})
			require.Equal(t, contract.RunExited, h.observe().State)
			require.Equal(t, updated.RuntimeID, deploy(contract.Ref{Generation: 2, Fence: 6, Verb: v1.VerbStart}).RuntimeID)
			h.must(contract.StepRemove, contract.Ref{Generation: 2, Fence: 7, Verb: v1.VerbRemove})
			require.Equal(t, contract.RunAbsent, h.observe().State)
			_, err := h.run(contract.StepStart, contract.Ref{Generation: 2, Fence: 6, Verb: v1.VerbStart}, true)
			require.Equal(t, v1.ReasonStaleFence, err.Reason)
			require.Equal(t, contract.RunAbsent, h.observe().State, "stale work makes nothing")
		})
	}
}

func TestAServiceThatEndsIsRestartedOnItsHost(t *testing.T) {
	h := newHost(t, service(), synthetic.Config{ServiceTime: time.Millisecond})
	first := h.must(contract.StepStart, contract.Ref{Generation: 1, Fence: 1, Verb: v1.VerbDeploy})
	require.Equal(t, 1, h.await(contract.RunExited).Exit.Code)
	require.Eventually(t, func() bool { return h.observe().Restarts > 0 }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { return h.observe().StartedAt.After(first.StartedAt) }, time.Minute, time.Millisecond)
}

func TestAnAttemptIsStartedOnce(t *testing.T) {
	h := newHost(t, job(), synthetic.Config{JobFailures: 1})
	ref := contract.Ref{Generation: 1, Fence: 1, Verb: v1.VerbDeploy, Attempt: 1}
	h.must(contract.StepStart, ref)
	require.Equal(t, 1, h.await(contract.RunExited).Exit.Code)

	ref.Fence = 2
	out := h.must(contract.StepStart, ref)
	require.NotNil(t, out.Exit)
	require.Equal(t, 1, out.Exit.Code, "it is not started a second time")
	h.must(contract.StepAcknowledge, ref)
	require.Equal(t, contract.RunAbsent, h.observe().State)
	ref.Fence = 3
	require.Equal(t, v1.ReasonUnknown, h.must(contract.StepStart, ref).Exit.Outcome)
	ref.Fence, ref.Attempt = 4, 2
	require.Nil(t, h.must(contract.StepStart, ref).Exit, "the next attempt is started")
}

func TestARestartedAgentFindsNothing(t *testing.T) {
	h := newHost(t, service(), synthetic.Config{})
	h.must(contract.StepStart, contract.Ref{Generation: 1, Fence: 1, Verb: v1.VerbDeploy})
	require.Equal(t, contract.RunRunning, h.observe().State)
	h.rt = synthetic.New(h.kind, "h", synthetic.Config{})
	require.Equal(t, contract.RunAbsent, h.observe().State)
}

func TestStepsTakeTheirTimeAndFail(t *testing.T) {
	h := newHost(t, service(), synthetic.Config{
		Delays:   map[contract.Step]time.Duration{contract.StepPrepare: 20 * time.Millisecond},
		Failures: map[contract.Step]float64{contract.StepStart: 1},
	})
	ref := contract.Ref{Generation: 1, Fence: 1, Verb: v1.VerbDeploy}
	begin := time.Now()
	_, err := h.run(contract.StepPrepare, ref, false)
	require.Nil(t, err)
	require.GreaterOrEqual(t, time.Since(begin), 20*time.Millisecond)
	_, err = h.run(contract.StepStart, ref, true)
	require.Equal(t, v1.ReasonRuntimeUnavailable, err.Reason)
	require.False(t, err.Permanent)
	require.Equal(t, contract.RunAbsent, h.observe().State)
}

func TestParse(t *testing.T) {
	delays, err := synthetic.ParseDelays(map[string]string{"start": "200ms", "AwaitReady": "1s"})
	require.NoError(t, err)
	require.Equal(t, map[contract.Step]time.Duration{
		contract.StepStart: 200 * time.Millisecond, contract.StepAwaitReady: time.Second,
	}, delays)
	for _, bad := range []map[string]string{{"boot": "1s"}, {"start": "-1s"}, {"start": "soon"}} {
		_, err := synthetic.ParseDelays(bad)
		require.Error(t, err, "%v", bad)
	}
	for _, bad := range []string{"1.1", "-0.1", "NaN", "", "half"} {
		_, err := synthetic.ParseFailures(map[string]string{"start": bad})
		require.Error(t, err, bad)
	}
}
