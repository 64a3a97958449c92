package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
	"github.com/berth-dev/berth/workflows/contract"
)

// trigger lets the schedule start a sweep now.
func trigger(f *harness.Fleet) {
	f.Temporal.CLI("schedule", "trigger", "--schedule-id", contract.SweepScheduleID)
}

// awaitSweep waits for a sweep that was started later, and is as wanted.
func awaitSweep(t *testing.T, f *harness.Fleet, after time.Time, wanted func(v1.Sweep) bool) v1.Sweep {
	t.Helper()
	var s v1.Sweep
	harness.Eventually(t, func() bool {
		var err error
		s, err = f.Client().Sweep(t.Context(), client.LatestSweep, v1.SweepThings, "")
		return err == nil && s.StartedAt.After(after) && wanted(s)
	}, long, poll)
	return s
}

func sweepOver(s v1.Sweep) bool { return s.State != v1.SweepRunning }

// TestASweepOfHostsThatAreNamed names hosts that never were, and one that is given up later.
func TestASweepOfHostsThatAreNamed(t *testing.T) {
	t.Parallel()
	f, agents := twoHosts(t)
	unscheduled(t, f)
	before := must(f.Client().SweepSchedule(t.Context()))
	for _, args := range [][]string{{"sweep", "--once", "--delete"}, {"sweep", "schedule", "--delete"}} {
		code, out := f.CLI(append(args, "--host", "h1,nowhere")...)
		require.NotZero(t, code)
		require.Contains(t, out, `hosts[1]: there is no host "nowhere"`)
	}
	for path, body := range map[string]string{
		"/v1/sweep-schedule": `{"interval": "2h", "paused": false, "request": {"delete": true, "hosts": ["nowhere"]}}`,
		"/v1/sweeps":         `{"hosts": ["nowhere"]}`,
	} {
		method := http.MethodPost
		if path == "/v1/sweep-schedule" {
			method = http.MethodPatch
		}
		status, data := f.Call(method, path, body)
		require.Equal(t, http.StatusUnprocessableEntity, status, path)
		require.Contains(t, string(data), `there is no host`)
	}
	require.Equal(t, before, must(f.Client().SweepSchedule(t.Context())), "nothing was changed")
	_, err := f.Client().Sweep(t.Context(), client.LatestSweep, 0, "")
	require.True(t, client.IsNotFound(err), "nothing was swept")

	code, out := f.CLI("sweep", "schedule", "--host", "h1,h2")
	require.Zero(t, code, out)
	agents["h1"].Kill()
	f.AwaitHost("h1", soon, v1.HostOffline)
	_, err = f.Client().Forget(t.Context(), "h1")
	require.NoError(t, err)
	stray(t, "berth."+f.ID+".h2.ghost", f.ID, "h2", "ghost")
	trigger(f)
	s := awaitSweep(t, f, time.Time{}, sweepOver)
	require.Equal(t, v1.SweepFailed, s.State)
	require.Equal(t, "host h1 was forgotten", s.Message)
	require.Equal(t, v1.SweepSummary{Hosts: 2, Unreachable: 1, Orphaned: 1, SkippedGrace: 1}, s.Summary, "the other one was looked at")
	require.Len(t, s.Hosts, 1)
	require.Equal(t, "h1", s.Hosts[0].Name)

	code, out = f.CLI("sweep", "schedule", "--all-hosts")
	require.Zero(t, code, out)
	require.Empty(t, must(f.Client().SweepSchedule(t.Context())).Request.Hosts)
	trigger(f)
	s = awaitSweep(t, f, s.StartedAt, sweepOver)
	require.Equal(t, v1.SweepSucceeded, s.State, s.Message)
}

// TestAScheduleThatIsChangedWhileItsSweepRuns holds a scheduled sweep meanwhile.
func TestAScheduleThatIsChangedWhileItsSweepRuns(t *testing.T) {
	t.Parallel()
	f := heldFleet(t)
	ghost := containerName(f, "ghost")
	stray(t, ghost, f.ID, hostName, "ghost")
	aged(t)
	f.Arm("Inventory.begin@" + hostName)
	trigger(f)
	f.AwaitHit("Inventory.begin@"+hostName, soon)
	code, out := f.CLI("sweep", "schedule", "--every", "2h", "--delete", "--grace", quick, "--allow-many", "--resume")
	require.Zero(t, code, out)
	s := must(f.Client().Sweep(t.Context(), client.LatestSweep, 0, ""))
	require.Equal(t, v1.SweepRunning, s.State)
	code, out = f.CLI("sweep", "schedule", "--pause")
	require.Zero(t, code, out)
	f.Release("Inventory.begin@" + hostName)
	s = sweepEnd(t, f, s.ID)
	require.Equal(t, v1.SweepSucceeded, s.State, "one that runs goes on")
	require.False(t, s.Request.Delete, "as it was begun")
	require.Equal(t, []string{ghost}, harness.Containers(t, f.ID))

	schedule := must(f.Client().SweepSchedule(t.Context()))
	require.True(t, schedule.Paused)
	require.Equal(t, v1.Duration(2*time.Hour), schedule.Interval)
	require.True(t, schedule.Request.Delete)
	require.NotNil(t, schedule.LastRun)

	// Paused, it keeps nobody from asking for one.
	code, once := sweep(t, f, "--grace", quick)
	require.Zero(t, code, once.Message)
	require.Equal(t, []string{"container " + ghost}, things(once, v1.VerdictOrphan))
	require.Equal(t, schedule.LastRun, must(f.Client().SweepSchedule(t.Context())).LastRun, "it began none itself")

	trigger(f)
	s = awaitSweep(t, f, once.StartedAt, sweepOver)
	require.Equal(t, v1.SweepSucceeded, s.State, s.Message)
	require.Equal(t, v1.SweepSummary{Hosts: 1, Orphaned: 1, Deleted: 1}, s.Summary, "the next one is as it was changed")
	require.Empty(t, harness.Containers(t, f.ID))
}
