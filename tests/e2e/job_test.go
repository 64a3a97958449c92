package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

func TestJobs(t *testing.T) {
	runAll(t, fleet(t), []subtest{
		{"succeeds with its exit code", jobSucceeds},
		{"fails after its attempts, each kept", jobFails},
		{"succeeds at a later attempt", jobSucceedsLater},
		{"ends at its deadline", jobDeadline},
		{"is run anew by a new spec and by restart", jobAnew},
		{"is removed while it runs", jobRemoved},
	})
}

func jobSucceeds(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "good", "type: job", shell("echo done")))
	v := f.AwaitPhase("good", soon, v1.PhaseSucceeded)
	require.Zero(t, *v.Status.ExitCode)
	require.Len(t, v.Attempts, 1)
	require.Equal(t, "Succeeded", v.Attempts[0].Outcome)
	require.NotNil(t, v.Attempts[0].EndedAt)
	require.Equal(t, hostName, v.Attempts[0].Host)
	remove(t, f, "good")
}

func jobFails(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "bad", "type: job", "job: {maxAttempts: 3}", shell("exit 7")))
	v := f.AwaitPhase("bad", soon, v1.PhaseFailed)
	require.Equal(t, 7, *v.Status.ExitCode)
	require.Len(t, v.Attempts, 3)
	for i, a := range v.Attempts {
		require.Equal(t, i+1, a.Number)
		require.Equal(t, "Failed", a.Outcome)
		require.Equal(t, 7, *a.ExitCode)
	}
	harness.Eventually(t, func() bool { return len(containersOf(t, f, "bad")) == 0 }, soon, poll,
		"an ended attempt goes from its host once its end is recorded")
	remove(t, f, "bad")
}

func jobSucceedsLater(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "later", "type: job", "job: {maxAttempts: 5}", "volumes: [{name: d, target: /d}]",
		shell("test -e /d/x && exit 0; touch /d/x; exit 1")))
	v := f.AwaitPhase("later", soon, v1.PhaseSucceeded)
	require.Len(t, v.Attempts, 2)
	require.Equal(t, "Failed", v.Attempts[0].Outcome)
	require.Equal(t, "Succeeded", v.Attempts[1].Outcome)
	purge(t, f, "later")
	require.Empty(t, only(t, f, "later", harness.Volumes(t, f.ID)))
}

func jobDeadline(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "late", "type: job", "job: {maxAttempts: 3, deadline: 3s}", shell(idle)))
	v := f.AwaitPhase("late", soon, v1.PhaseFailed)
	require.Equal(t, v1.ReasonDeadlineExceeded, v.Status.Reason)
	harness.Eventually(t, func() bool {
		return len(only(t, f, "late", harness.RunningContainers(t, f.ID))) == 0
	}, soon, poll, "nothing of it runs on")
	v = f.Workload("late")
	require.Len(t, v.Attempts, 1)
	remove(t, f, "late")
}

func jobAnew(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "anew", "type: job", shell("exit 4")))
	f.AwaitPhase("anew", soon, v1.PhaseFailed)
	f.Apply(container(t, f, "anew", "type: job", shell("exit 0")))
	v := f.AwaitPhase("anew", soon, v1.PhaseSucceeded)
	require.EqualValues(t, 2, v.Status.Generation)
	n := len(v.Attempts)
	awaitSettled(f, f.Do("anew", v1.VerbRestart))
	f.AwaitWorkload("anew", soon, "it ran again", func(v v1.View) bool {
		return v.Status.Phase == v1.PhaseSucceeded && len(v.Attempts) == n+1
	})
	remove(t, f, "anew")
}

func jobRemoved(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "cut", "type: job", shell(idle)))
	f.AwaitPhase("cut", soon, v1.PhaseRunning)
	remove(t, f, "cut")
	require.Empty(t, containersOf(t, f, "cut"))
}
