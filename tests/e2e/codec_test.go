package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// TestEncryptedHistories runs a fleet whose servers and agents share a key file: nothing that a user wrote into a spec can be
// read in Temporal, and all works as it does without.
func TestEncryptedHistories(t *testing.T) {
	f := harness.NewFleet(t)
	code, key := f.CLI("key", "new", "--id", "first")
	require.Zero(t, code, key)
	file := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(file, []byte(key), 0o600))
	f.StartServer(append(pace, "--plaintext-history=false", "--key-file", file)...)
	f.StartAgent(hostName, append(pace, "--key-file", file)...)
	f.AwaitHost(hostName, soon, v1.HostOnline)

	f.Apply(container(t, f, "signalled", "env: {PASSWORD: hunter2-plain}"))
	v := f.AwaitPhase("signalled", soon, v1.PhaseRunning)
	require.Equal(t, hostName, v.Status.Host)
	require.NotNil(t, v.Spec)
	first := inspect(t, f, "signalled")
	require.Contains(t, first.Config.Env, "PASSWORD=hunter2-plain")
	bySignals(t, f, first)
	signal(t, f, "signalled", "stop", "--input", `"hunter2-malformed"`)
	f.AwaitWorkload("signalled", soon, "it has a condition", func(v v1.View) bool { return len(v.Status.Conditions) == 1 })

	// A failure's message is encrypted as well.
	f.Apply(container(t, f, "failing", "volumes: [{bind: /hunter2-path, target: /x}]"))
	v = f.AwaitPhase("failing", soon, v1.PhaseFailed)
	require.Equal(t, v1.ReasonPolicyDenied, v.Status.Reason)
	require.Contains(t, v.Status.Message, "/hunter2-path")

	require.True(t, awaitEqual(t, []string{"failing", "signalled"}, func() []string {
		var names []string
		for _, item := range is[v1.WorkloadList](t, call(t, f, http.MethodGet, "/v1/workloads", nil), 200).Items {
			require.NotEmpty(t, item.Status.Phase)
			names = append(names, item.Metadata.Name)
		}
		return names
	}))
	for _, a := range is[v1.ActionList](t, call(t, f, http.MethodGet, "/v1/actions", nil), 200).Items {
		require.Equal(t, hostName, a.Host)
		r := call(t, f, http.MethodGet, "/v1/actions/"+a.ID, nil)
		require.NotContains(t, string(r.body), "hunter2-plain")
		view := is[v1.ActionView](t, r, 200)
		if a.Workload == "failing" && a.Outcome == v1.OutcomeFailed {
			require.Contains(t, a.Message, "/hunter2-path", "what is encrypted in Temporal is read by its own")
			require.Equal(t, v1.ReasonPolicyDenied, view.Steps[len(view.Steps)-1].Failure.Reason)
		}
	}
	for _, name := range []string{"signalled", "failing"} {
		text := strings.Join(words(listEvents(t, f, name)), "\n")
		require.Contains(t, text, "generation 1 was accepted")
		require.Contains(t, text, "Placed it was placed on h1")
		require.NotContains(t, text, "hunter2-plain")
		require.Equal(t, name == "failing", strings.Contains(text, "/hunter2-path"))
	}
	logs, err := f.Client().Logs(t.Context(), "signalled", 10)
	require.NoError(t, err)
	require.NotEmpty(t, logs.Lines)

	// The schedule's arguments, a sweep's memo and its pages are encrypted, too.
	stray(t, containerName(f, "hunter2-ghost"), f.ID, hostName, "hunter2-ghost")
	schedule, err := unscheduled(t, f).Client().SweepSchedule(t.Context())
	require.NoError(t, err)
	require.Equal(t, v1.SweepRequest{Grace: v1.Duration(v1.DefaultSweepGrace)}, schedule.Request)
	code, s := sweep(t, f)
	require.Zero(t, code, s.Message)
	require.Equal(t, 1, s.Summary.SkippedGrace)
	require.Equal(t, []string{"container " + containerName(f, "hunter2-ghost")}, things(s, v1.VerdictYoung))

	shown := showAll(t, f)
	require.Contains(t, shown, "binary/encrypted")
	require.NotContains(t, strings.ReplaceAll(shown, "hunter2-malformed", ""), "hunter2", "but for what came in plain by signal")
	remove(t, f, "signalled")
	remove(t, f, "failing")
	require.NotContains(t, strings.ReplaceAll(showAll(t, f), "hunter2-malformed", ""), "hunter2")
}

// showAll is everything that Temporal holds of all workflows, payloads decoded from base64.
func showAll(t *testing.T, f *harness.Fleet) string {
	t.Helper()
	var text strings.Builder
	var listed []struct {
		Execution struct {
			WorkflowID string `json:"workflowId"`
			RunID      string `json:"runId"`
		} `json:"execution"`
	}
	list := f.Temporal.CLI("workflow", "list", "--output", "json", "--limit", "1000")
	decode(t, list, &listed)
	require.NotEmpty(t, listed)
	text.WriteString(plain(list))
	for _, w := range listed {
		text.WriteString(plain(f.Temporal.CLI("workflow", "show", "--workflow-id", w.Execution.WorkflowID, "--run-id", w.Execution.RunID,
			"--output", "json", "--no-json-shorthand-payloads")))
		text.WriteString(plain(f.Temporal.CLI("workflow", "describe", "--workflow-id", w.Execution.WorkflowID, "--run-id", w.Execution.RunID,
			"--output", "json", "--no-json-shorthand-payloads")))
	}
	return text.String()
}
