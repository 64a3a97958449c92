package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
	"github.com/berth-dev/berth/workflows/contract"
)

// deleting removes whatever may be removed and is older than quick.
var deleting = []string{"--delete", "--allow-many", "--grace", quick}

// begin starts a sweep without waiting for its end.
func begin(t *testing.T, f *harness.Fleet) v1.Sweep {
	t.Helper()
	s, err := f.Client().StartSweep(t.Context(), v1.SweepRequest{Delete: true, AllowMany: true, Grace: v1.Duration(time.Second)}, client.Change{})
	require.NoError(t, err)
	return s
}

// sweepEnd waits for the end of a sweep.
func sweepEnd(t *testing.T, f *harness.Fleet, id string) v1.Sweep {
	t.Helper()
	var s v1.Sweep
	harness.Eventually(t, func() bool {
		var err error
		s, err = f.Client().Sweep(t.Context(), id, 0, "")
		return err == nil && s.State != v1.SweepRunning
	}, long, poll)
	return s
}

// heldFleet is a fleet whose processes can be held at failpoints.
func heldFleet(t *testing.T) *harness.Fleet {
	t.Helper()
	f := harness.NewFleet(t, harness.Failpoints())
	f.StartServer(pace...)
	f.StartAgent(hostName, pace...)
	f.AwaitHost(hostName, soon, v1.HostOnline)
	return unscheduled(t, f)
}

// TestASweepAndADeploy holds a deploy after it has made its container, and sweeps.
func TestASweepAndADeploy(t *testing.T) {
	t.Parallel()
	f := heldFleet(t)
	f.Arm("container.start.before@web")
	f.Apply(container(t, f, "web"))
	f.AwaitHit("container.start.before@web", soon)
	require.Len(t, containersOf(t, f, "web"), 1)
	aged(t)
	code, s := sweep(t, f, deleting...)
	require.Zero(t, code, s.Message)
	require.Equal(t, v1.SweepSummary{Hosts: 1, SkippedLive: 2}, s.Summary)
	f.Release("container.start.before@web")
	f.AwaitPhase("web", soon, v1.PhaseRunning)
}

// TestOneSweepAtATime holds one, and asks for others.
func TestOneSweepAtATime(t *testing.T) {
	t.Parallel()
	f := heldFleet(t)
	f.Arm("Inventory.begin@" + hostName)
	first := begin(t, f)
	f.AwaitHit("Inventory.begin@"+hostName, soon)

	code, out := f.CLI("sweep", "--once")
	require.NotZero(t, code)
	require.Contains(t, out, string(v1.ReasonSweepRunning))
	require.Contains(t, out, first.ID)

	f.Temporal.CLI("schedule", "trigger", "--schedule-id", contract.SweepScheduleID)
	var skipped string
	harness.Eventually(t, func() bool {
		list := f.Temporal.CLI("workflow", "list", "--query", "WorkflowType = 'ScheduledSweep' AND ExecutionStatus = 'Completed'", "-o", "json")
		var runs []struct{ Execution struct{ WorkflowID string } }
		require.NoError(t, json.Unmarshal([]byte(list), &runs))
		if len(runs) > 0 {
			skipped = runs[0].Execution.WorkflowID
		}
		return skipped != ""
	}, soon, poll, "a scheduled run that finds one running completes")
	require.Contains(t, plain(f.Temporal.CLI("workflow", "result", "--workflow-id", skipped, "-o", "json")), "skipped")
	require.Equal(t, v1.SweepRunning, must(f.Client().Sweep(t.Context(), first.ID, 0, "")).State)

	f.Release("Inventory.begin@" + hostName)
	require.Equal(t, v1.SweepSucceeded, sweepEnd(t, f, first.ID).State)
	code, _ = sweep(t, f)
	require.Zero(t, code)

	f.Temporal.CLI("schedule", "trigger", "--schedule-id", contract.SweepScheduleID)
	harness.Eventually(t, func() bool {
		s, err := f.Client().Sweep(t.Context(), client.LatestSweep, 0, "")
		return err == nil && s.State == v1.SweepSucceeded && s.StartedAt.After(first.StartedAt) && !s.Request.Delete
	}, soon, poll, "the schedule starts one, too")
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err) // the test's goroutine: it fails with where it was
	}
	return value
}

// TestAHostThatGoesAwayInASweep kills an agent while it is asked what it holds.
func TestAHostThatGoesAwayInASweep(t *testing.T) {
	t.Parallel()
	f := harness.NewFleet(t, harness.Failpoints())
	f.StartServer(pace...)
	for _, host := range []string{"h1", "h2"} {
		f.StartAgent(host, pace...)
		f.AwaitHost(host, soon, v1.HostOnline)
		stray(t, "berth."+f.ID+"."+host+".ghost", f.ID, host, "ghost")
	}
	unscheduled(t, f)
	aged(t)
	f.Arm("Inventory.begin@h1")
	s := begin(t, f)
	f.AwaitHit("Inventory.begin@h1", soon)
	f.Agents[0].Kill()
	s = sweepEnd(t, f, s.ID)
	require.Equal(t, v1.SweepSucceeded, s.State, s.Message)
	require.Equal(t, v1.SweepSummary{Hosts: 2, Unreachable: 1, Orphaned: 1, Deleted: 1}, s.Summary)
	require.Len(t, s.Hosts, 1)
	require.Equal(t, "h1", s.Hosts[0].Name)
	require.True(t, s.Hosts[0].Unreachable)
	require.Equal(t, []string{"berth." + f.ID + ".h1.ghost"}, harness.Containers(t, f.ID))
}

// TestARemovalThatIsRefused has a network that something else uses.
func TestARemovalThatIsRefused(t *testing.T) {
	t.Parallel()
	f := unscheduled(t, fleet(t))
	prefix := "berth." + f.ID + "." + hostName + ".ghost"
	docker(t, append(append([]string{"network", "create"}, marks(f.ID, hostName, "ghost")...), prefix+".net")...)
	docker(t, "run", "--detach", "--name", f.ID+"-user", "--network", prefix+".net", harness.ContainerImage(t), "/bin/busybox", "sh", "-c", idle)
	t.Cleanup(func() {
		docker(t, "rm", "--force", f.ID+"-user")
		docker(t, "network", "rm", prefix+".net")
	})
	stray(t, prefix, f.ID, hostName, "ghost")
	aged(t)
	code, s := sweep(t, f, deleting...)
	require.NotZero(t, code)
	require.Equal(t, v1.SweepFailed, s.State)
	require.Equal(t, v1.SweepSummary{Hosts: 1, Orphaned: 2, Deleted: 1, Failed: 1}, s.Summary)
	require.Equal(t, []string{"network " + prefix + ".net"}, things(s, v1.VerdictFailed))
	require.Equal(t, []string{"container " + prefix}, things(s, v1.VerdictDeleted))

	code, out := f.CLI("sweep")
	require.Zero(t, code)
	require.Contains(t, out, s.Summary.String(), "the failed run shows the whole summary")
	history := f.Temporal.CLI("workflow", "show", "--workflow-id", contract.SweepID, "--run-id", s.ID, "-o", "json")
	require.Contains(t, history, s.Summary.String(), "and so does its failure")
}

// TestAnEmptyDatabase takes the database from under a host that is full.
func TestAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	f := unscheduled(t, fleet(t))
	f.Apply(container(t, f, "web", "volumes: [{name: data, target: /data}]"))
	f.AwaitPhase("web", soon, v1.PhaseRunning)
	id := inspect(t, f, "web").ID
	code, s := sweep(t, f, deleting...)
	require.Zero(t, code)
	require.Equal(t, v1.SweepSummary{Hosts: 1, SkippedLive: 3}, s.Summary)

	f.Servers[0].Stop()
	f.Temporal.Empty()
	f.Servers[0].Start()
	unscheduled(t, f)
	f.AwaitHost(hostName, soon, v1.HostOnline)
	status, _ := f.Call(http.MethodGet, "/v1/workloads/web", nil)
	require.Equal(t, http.StatusNotFound, status)
	aged(t)
	code, s = sweep(t, f, deleting...)
	require.NotZero(t, code)
	require.Equal(t, v1.SweepFailed, s.State)
	require.Contains(t, s.Message, "the fleet knows nothing of things that are older than its memory")
	require.Zero(t, s.Summary.Deleted)
	require.Equal(t, id, inspect(t, f, "web").ID)
	require.Len(t, harness.Volumes(t, f.ID), 1)

	// Applied again, all is known again.
	f.Apply(container(t, f, "web", "volumes: [{name: data, target: /data}]"))
	f.AwaitPhase("web", soon, v1.PhaseRunning)
	code, s = sweep(t, f, deleting...)
	require.Zero(t, code, s.Message)
	require.Equal(t, v1.SweepSummary{Hosts: 1, SkippedLive: 3}, s.Summary)
}

// TestWhatIsMissing removes what runs together with all that its host knows of it.
func TestWhatIsMissing(t *testing.T) {
	t.Parallel()
	f := unscheduled(t, fleet(t))
	f.Apply(container(t, f, "web"))
	f.AwaitPhase("web", soon, v1.PhaseRunning)
	f.Agents[0].Kill()
	docker(t, "rm", "--force", containerName(f, "web"))
	removeAll(t, f.Agents[0].DataDir+"/workloads/web")
	f.Agents[0].Start()
	f.AwaitHost(hostName, soon, v1.HostOnline)
	f.AwaitPhase("web", soon, v1.PhaseRunning)
	require.Empty(t, containersOf(t, f, "web"), "nobody knows")

	code, s := sweep(t, f)
	require.Zero(t, code, s.Message)
	require.Equal(t, v1.SweepSummary{Hosts: 1, Repaired: 1}, s.Summary)
	require.Equal(t, []string{"container web"}, things(s, v1.VerdictRepaired))
	harness.Eventually(t, func() bool { return len(containersOf(t, f, "web")) == 1 }, soon, poll)
	f.AwaitWorkload("web", soon, "it runs", func(v v1.View) bool { return v.Status.Phase == v1.PhaseRunning && v.Status.Settled })
	_, s = sweep(t, f)
	require.Zero(t, s.Summary.Repaired)
}

// TestASchedule changes the schedule, and restarts the server that made it.
func TestASchedule(t *testing.T) {
	t.Parallel()
	f := fleet(t)
	schedule := func(args ...string) (s v1.SweepSchedule) {
		t.Helper()
		code, out := f.CLI(append([]string{"sweep", "schedule", "-o", "json"}, args...)...)
		require.Zero(t, code, out)
		decode(t, out, &s)
		return s
	}
	s := schedule()
	require.Equal(t, v1.Duration(10*time.Minute), s.Interval)
	require.Equal(t, v1.SweepRequest{Grace: v1.Duration(v1.DefaultSweepGrace)}, s.Request)
	require.False(t, s.Paused)
	require.NotNil(t, s.NextRun)
	require.LessOrEqual(t, time.Until(*s.NextRun), 10*time.Minute)

	s = schedule("--pause", "--every", "3h", "--delete", "--grace", "1h")
	require.True(t, s.Paused)
	require.Nil(t, s.NextRun)
	f.Servers[0].Stop()
	f.Servers[0].Start()
	s = schedule()
	require.True(t, s.Paused, "what an operator changed stays")
	require.Equal(t, v1.Duration(3*time.Hour), s.Interval)
	require.Equal(t, v1.SweepRequest{Delete: true, Grace: v1.Duration(time.Hour)}, s.Request)

	s = schedule("--resume", "--dry-run")
	require.False(t, s.Paused)
	require.Equal(t, v1.SweepRequest{Grace: v1.Duration(time.Hour)}, s.Request)
	described := f.Temporal.CLI("schedule", "describe", "--schedule-id", contract.SweepScheduleID, "-o", "json")
	require.Contains(t, described, "SCHEDULE_OVERLAP_POLICY_SKIP")
	require.Contains(t, strings.ReplaceAll(described, " ", ""), `"catchupWindow":"120s"`)

	for _, wrong := range [][]string{{"--every", "5s"}, {"--grace", "0s"}, {"--pause", "--resume"}} {
		code, out := f.CLI(append([]string{"sweep", "schedule"}, wrong...)...)
		require.NotZero(t, code, out)
	}
}
