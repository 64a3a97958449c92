package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// signal signals a workload as the README says.
func signal(t *testing.T, f *harness.Fleet, workload, name string, more ...string) {
	t.Helper()
	f.Temporal.CLI(append([]string{"workflow", "signal", "--workflow-id", "workload/" + workload, "--name", name}, more...)...)
}

func TestSignals(t *testing.T) {
	runAll(t, fleet(t), []subtest{
		{"the verbs", signalVerbs},
		{"a malformed one becomes a condition", malformedSignal},
		{"a native cancel is shown and ignored", nativeCancel},
		{"entities continue as new and keep all", continueAsNew},
	})
}

func signalVerbs(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "signalled"))
	f.AwaitPhase("signalled", soon, v1.PhaseRunning)
	first := inspect(t, f, "signalled")
	bySignals(t, f, first)
	signal(t, f, "signalled", "remove")
	f.AwaitGone("signalled", soon)
	require.Empty(t, containersOf(t, f, "signalled"))
}

// bySignals restarts, stops and starts the workload "signalled".
func bySignals(t *testing.T, f *harness.Fleet, first inspected) {
	t.Helper()
	signal(t, f, "signalled", "restart")
	harness.Eventually(t, func() bool {
		now := inspect(t, f, "signalled")
		return now.ID == first.ID && now.State.Running && now.State.StartedAt != first.State.StartedAt
	}, soon, poll)
	signal(t, f, "signalled", "stop")
	f.AwaitPhase("signalled", soon, v1.PhaseStopped)
	signal(t, f, "signalled", "start", "--input", `{"requestId":"by-hand"}`)
	v := f.AwaitPhase("signalled", soon, v1.PhaseRunning)
	seq := v.Status.Seq
	signal(t, f, "signalled", "retry")
	signal(t, f, "signalled", "start", "--input", `{"requestId":"by-hand"}`)
	v = f.Workload("signalled")
	require.Equal(t, seq, v.Status.Seq, "there was nothing to retry, and a repeat is one")
	require.Empty(t, v.Status.Conditions)
}

func malformedSignal(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "mangled"))
	f.AwaitPhase("mangled", soon, v1.PhaseRunning)
	first := inspect(t, f, "mangled")
	for n, input := range []string{`"nonsense"`, `{"ifGeneration":"three"}`} {
		signal(t, f, "mangled", "stop", "--input", input)
		v := f.AwaitWorkload("mangled", soon, "it has a condition", func(v v1.View) bool { return len(v.Status.Conditions) == n+1 })
		require.Equal(t, v1.ReasonMalformedSignal, v.Status.Conditions[n].Reason)
		require.NotContains(t, v.Status.Conditions[n].Message, "nonsense")
	}
	signal(t, f, "mangled", "stop", "--input", `{"ifGeneration":9}`)
	v := f.AwaitWorkload("mangled", soon, "the refusal is told", func(v v1.View) bool { return len(v.Status.Conditions) == 3 })
	require.Equal(t, v1.ReasonGenerationMismatch, v.Status.Conditions[2].Reason)
	require.Equal(t, v1.PhaseRunning, v.Status.Phase)
	require.Equal(t, first.State.StartedAt, inspect(t, f, "mangled").State.StartedAt)
	remove(t, f, "mangled")
}

func nativeCancel(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "cancelled"))
	f.AwaitPhase("cancelled", soon, v1.PhaseRunning)
	f.Temporal.CLI("workflow", "cancel", "--workflow-id", "workload/cancelled")
	v := f.AwaitWorkload("cancelled", soon, "it has a condition", func(v v1.View) bool { return len(v.Status.Conditions) == 1 })
	require.Equal(t, v1.PhaseRunning, v.Status.Phase)
	v = awaitSettled(f, f.Do("cancelled", v1.VerbStop))
	require.Equal(t, v1.PhaseStopped, v.Status.Phase)
	remove(t, f, "cancelled")
}

func continueAsNew(t *testing.T, f *harness.Fleet) {
	run := func(workflow string) string {
		d, err := f.Temporal.Client().DescribeWorkflow(t.Context(), workflow, "")
		require.NoError(t, err)
		return d.WorkflowExecution.RunID
	}
	a := f.Apply(container(t, f, "long", "env: {N: one}"))
	f.AwaitPhase("long", soon, v1.PhaseRunning)
	workloadRun, hostRun := run("workload/long"), run("host/"+hostName)
	id := inspect(t, f, "long").ID
	seq := a.Seq
	for range 4 {
		for _, verb := range []v1.Verb{v1.VerbRestart, v1.VerbStop, v1.VerbStart} {
			a := f.Do("long", verb)
			require.Greater(t, a.Seq, seq, "requests are counted on over the runs")
			seq = a.Seq
			awaitSettled(f, a)
		}
	}
	harness.Eventually(t, func() bool { return run("workload/long") != workloadRun && run("host/"+hostName) != hostRun }, soon, poll,
		"both continue as new")
	require.Equal(t, id, inspect(t, f, "long").ID)

	a = f.Apply(container(t, f, "long", "env: {N: two}"))
	require.EqualValues(t, 2, a.Generation)
	v := awaitSettled(f, a)
	require.Equal(t, v1.PhaseRunning, v.Status.Phase)
	require.Len(t, containersOf(t, f, "long"), 1)
	remove(t, f, "long")

	var history struct {
		Events []struct {
			EventType string `json:"eventType"`
		} `json:"events"`
	}
	out := f.Temporal.CLI("workflow", "show", "--workflow-id", "workload/long", "--run-id", workloadRun, "--output", "json")
	decode(t, out, &history)
	require.Equal(t, "EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW", history.Events[len(history.Events)-1].EventType)
}
