//go:build record

package replay_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// recordLostRecord lets a host lose its record of a container that runs, and be given it again.
func recordLostRecord(t *testing.T, f *harness.Fleet, agent *harness.Agent) {
	t.Helper()
	path := filepath.Join(agent.DataDir, "workloads", "web", "record.json")
	agent.Kill()
	require.NoError(t, os.Remove(path))
	agent.Start()
	harness.Eventually(t, func() bool { _, err := os.Stat(path); return err == nil }, time.Minute, 100*time.Millisecond)
	f.AwaitWorkload("web", time.Minute, "it is looked after", func(v v1.View) bool {
		return v.Status.Phase == v1.PhaseRunning && len(v.Status.Conditions) == 0
	})
}

// recordGivenUp freezes a host in the middle of a stop, and asks for something else once it is lost: the stop is given up.
func recordGivenUp(t *testing.T, f *harness.Fleet, agent *harness.Agent, container func(name, spec string)) {
	t.Helper()
	container("stubborn", ", stopGracePeriod: 2m, command: [/bin/busybox, sh, -c, 'trap : TERM; while :; do busybox sleep 1; done']")
	f.AwaitPhase("stubborn", time.Minute, v1.PhaseRunning)
	f.Do("stubborn", v1.VerbStop)
	f.AwaitPhase("stubborn", time.Minute, v1.PhaseStopping)
	agent.Pause()
	f.AwaitHost(agent.Host, time.Minute, v1.HostOffline)
	f.Do("stubborn", v1.VerbRemove)
	f.AwaitPhase("stubborn", time.Minute, v1.PhaseRemoving)
	agent.Resume()
	f.AwaitHost(agent.Host, time.Minute, v1.HostOnline)
	f.AwaitGone("stubborn", 3*time.Minute)
}

// recordForgotten lets another machine take a host's name.
func recordForgotten(t *testing.T, f *harness.Fleet, host string) {
	t.Helper()
	_, err := f.Client().Cordon(t.Context(), host, true)
	require.NoError(t, err)
	_, err = f.Client().Forget(t.Context(), host)
	require.NoError(t, err)
	next := f.StartAgent(host)
	require.False(t, f.AwaitHost(host, time.Minute, v1.HostOnline).Cordoned)
	next.Stop()
	f.AwaitHost(host, time.Minute, v1.HostLeft)
}
