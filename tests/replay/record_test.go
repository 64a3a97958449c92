//go:build record

package replay_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
	"github.com/berth-dev/berth/workflows/contract"
)

// version is the folder that new histories go to. Those of earlier versions stay, and are replayed for ever.
const version = "v3"

// TestRecord runs a day in the life of a fleet and keeps its histories.
func TestRecord(t *testing.T) {
	image, guest := harness.ContainerImage(t), harness.GuestImage(t)
	f := harness.NewFleet(t)
	f.StartServer("--continue-as-new-at", "60")
	agent := f.StartAgent("h1", "--allow-path", filepath.Dir(guest))
	f.AwaitHost("h1", time.Minute, v1.HostOnline)

	container := func(name, spec string) {
		f.Apply(f.Parse(fmt.Sprintf("apiVersion: berth/v1\nkind: Container\nmetadata: {name: %s, labels: {a: b, c: d}}\n"+
			"spec: {image: %q, pull: never%s}\n", name, image, spec)))
	}
	phase := func(name string, p v1.Phase) { f.AwaitPhase(name, time.Minute, p) }
	do := func(name string, verb v1.Verb, p v1.Phase) {
		f.Do(name, verb)
		phase(name, p)
	}

	container("web", "")
	phase("web", v1.PhaseRunning)
	container("web", ", env: {A: '1'}")
	f.AwaitWorkload("web", time.Minute, "generation 2 runs", func(w v1.View) bool {
		return w.Status.RunningGeneration == 2 && w.Status.Action == nil
	})
	do("web", v1.VerbStop, v1.PhaseStopped)
	do("web", v1.VerbStart, v1.PhaseRunning)
	for range 4 { // enough to continue as new
		fence := f.Workload("web").Status.Fence
		f.Do("web", v1.VerbRestart)
		f.AwaitWorkload("web", time.Minute, "restarted", func(w v1.View) bool {
			return w.Status.Fence > fence && w.Status.Phase == v1.PhaseRunning && w.Status.Action == nil
		})
	}
	f.Call("GET", "/v1/workloads/web/logs?tail=5", nil)

	container("batch", ", type: job, job: {maxAttempts: 2}, command: [/bin/busybox, sh, -c, 'exit 3']")
	phase("batch", v1.PhaseFailed)
	container("missing", ", command: [/none]")
	f.AwaitWorkload("missing", time.Minute, "failed once", func(w v1.View) bool { return w.Status.Tries > 0 })
	container("huge", ", resources: {memory: 900Gi}")
	f.AwaitWorkload("huge", time.Minute, "waits for room", func(w v1.View) bool { return w.Status.Reason == v1.ReasonNoCapacity })
	f.Apply(f.Parse(fmt.Sprintf("apiVersion: berth/v1\nkind: VM\nmetadata: {name: vm}\n"+
		"spec: {vcpus: 1, memory: 128Mi, disks: [{name: root, image: {path: %q}}], readiness: {when: console, line: GUEST-READY}}\n", guest)))
	f.AwaitPhase("vm", 3*time.Minute, v1.PhaseRunning)
	agent.Stop()
	f.AwaitHost("h1", time.Minute, v1.HostLeft)
	agent.Start()
	f.AwaitHost("h1", time.Minute, v1.HostOnline)
	recordLostRecord(t, f, agent)
	recordGivenUp(t, f, agent, container)
	recordSweeps(t, f, container)
	other := recordDrain(t, f)
	for _, name := range []string{"web", "batch", "missing", "vm", "huge"} {
		f.Do(name, v1.VerbRemove)
	}
	for _, name := range []string{"web", "batch", "missing", "vm", "huge"} {
		f.AwaitGone(name, time.Minute)
	}
	for _, a := range []*harness.Agent{agent, other} {
		a.Stop()
		f.AwaitHost(a.Host, time.Minute, v1.HostLeft)
	}
	recordForgotten(t, f, other.Host)

	kept := map[string]int{}
	for line := range strings.Lines(f.Temporal.CLI("workflow", "list", "--limit", "200", "-o", "jsonl")) {
		keep(t, f, kept, line)
	}
	for _, kind := range recorded {
		require.NotZero(t, kept[kind], "no history of %s", kind)
	}
}

// recordDrain lets a container find no room, move to another host that comes, and a machine with a disk be stopped.
func recordDrain(t *testing.T, f *harness.Fleet) *harness.Agent {
	t.Helper()
	_, err := f.Client().Drain(t.Context(), "h1", v1.DrainRequest{})
	require.NoError(t, err)
	f.AwaitWorkload("web", time.Minute, "waits for room", func(w v1.View) bool {
		return w.Status.Reason == v1.ReasonHostDraining && w.Status.Action == nil
	})
	agent := f.StartAgent("h2")
	f.AwaitHost("h2", time.Minute, v1.HostOnline)
	_, err = f.Client().Drain(t.Context(), "h1", v1.DrainRequest{Force: true})
	require.NoError(t, err)
	harness.Eventually(t, func() bool {
		h, err := f.Client().Host(t.Context(), "h1")
		return err == nil && h.Drain != nil && h.Drain.EndedAt != nil
	}, 2*time.Minute, 100*time.Millisecond)
	require.Equal(t, "h2", f.Workload("web").Status.Host)
	_, err = f.Client().Cordon(t.Context(), "h1", false)
	require.NoError(t, err)
	f.AwaitPhase("vm", 2*time.Minute, v1.PhaseRunning)
	return agent
}

// recordSweeps lets a sweep list what a terminated workflow left, another remove it, and the schedule start one.
func recordSweeps(t *testing.T, f *harness.Fleet, container func(name, spec string)) {
	t.Helper()
	container("lost", "")
	f.AwaitPhase("lost", time.Minute, v1.PhaseRunning)
	f.Temporal.CLI("workflow", "terminate", "--workflow-id", contract.WorkloadID("lost"))
	for _, args := range [][]string{nil, {"--delete", "--allow-many", "--grace", "1s"}} {
		code, out := f.CLI(append([]string{"sweep", "--once"}, args...)...)
		require.Zero(t, code, out)
	}
	code, out := f.CLI("sweep", "--once", "--host", "nowhere")
	require.NotZero(t, code, out)
	f.Temporal.CLI("schedule", "trigger", "--schedule-id", contract.SweepScheduleID)
	harness.Eventually(t, func() bool {
		return strings.Contains(f.Temporal.CLI("workflow", "list", "--query", "WorkflowType = 'ScheduledSweep'"), "Completed")
	}, time.Minute, 100*time.Millisecond)
}

// keep writes one execution's history, unless there are enough of its type.
func keep(t *testing.T, f *harness.Fleet, kept map[string]int, line string) {
	t.Helper()
	e := parseExecution(t, line)
	if kept[e.Type.Name]++; kept[e.Type.Name] > 12 || e.Type.Name == contract.WorkflowLogs && kept[e.Type.Name] > 1 {
		return
	}
	dir := filepath.Join("testdata", e.Type.Name, version)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	name := strings.NewReplacer("/", "_", ":", "").Replace(e.Execution.WorkflowID)
	if i := strings.LastIndexByte(name, '_'); e.Type.Name != contract.WorkflowWorkload && e.Type.Name != contract.WorkflowHost && i > 0 {
		name = name[:i]
	}
	history := f.Temporal.CLI("workflow", "show", "--workflow-id", e.Execution.WorkflowID, "--run-id", e.Execution.RunID, "-o", "json")
	path := filepath.Join(dir, fmt.Sprintf("%s-%d.json", name, kept[e.Type.Name]))
	require.NoError(t, os.WriteFile(path, []byte(history), 0o600))
}
