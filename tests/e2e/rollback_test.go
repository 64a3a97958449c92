package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// TestADatabaseThatWasPutBack removes and makes workloads after a backup, which is then put back.
func TestADatabaseThatWasPutBack(t *testing.T) {
	t.Parallel()
	f := unscheduled(t, fleet(t))
	for _, name := range []string{"gone", "again", "kept", "newer"} {
		f.Apply(container(t, f, name, "volumes: [{name: data, target: /data}]"))
	}
	for _, name := range []string{"gone", "again", "kept", "newer"} {
		f.AwaitPhase(name, soon, v1.PhaseRunning)
	}
	f.Servers[0].Stop()
	restore := f.Temporal.Backup()
	f.Servers[0].Start()
	f.AwaitHost(hostName, soon, v1.HostOnline)
	remove(t, f, "gone")
	remove(t, f, "again")
	awaitSettled(f, f.Do("kept", v1.VerbRestart))
	awaitSettled(f, f.Apply(container(t, f, "newer", "volumes: [{name: data, target: /data}]", "env: {A: b}")))
	f.Apply(container(t, f, "unknown"))
	f.AwaitPhase("unknown", soon, v1.PhaseRunning)
	ids := map[string]string{}
	for _, name := range []string{"kept", "newer", "unknown"} {
		ids[name] = inspect(t, f, name).ID
	}
	volumes := harness.Volumes(t, f.ID)
	require.Len(t, volumes, 4)
	began := time.Now()
	f.Agents[0].Stop()
	f.Servers[0].Stop()
	restore()
	f.Servers[0].Start()
	f.AwaitHost(hostName, soon, v1.HostOffline)
	f.Agents[0].Start()
	f.AwaitHost(hostName, soon, v1.HostOnline)
	for _, name := range []string{"gone", "again", "kept", "newer"} {
		f.AwaitPhase(name, soon, v1.PhaseRunning) // by what it knows
	}

	same := func() {
		t.Helper()
		require.ElementsMatch(t, volumes, harness.Volumes(t, f.ID), "nothing was removed")
		for name, id := range ids {
			require.Equal(t, id, inspect(t, f, name).ID, "or made anew")
		}
		require.Len(t, harness.Containers(t, f.ID), len(ids))
	}
	aged(t)
	code, s := sweep(t, f, deleting...)
	require.NotZero(t, code)
	for _, name := range []string{"gone", "again", "kept", "newer"} {
		require.Contains(t, s.Message, name+" on "+hostName)
	}
	require.Equal(t, 3, s.Summary.Repaired, "%+v", s.Things)
	require.Zero(t, s.Summary.Deleted)
	for name, says := range map[string]string{"gone": "it was removed there since", "again": "it was removed there since", "newer": "it was changed there since"} {
		v := f.AwaitPhase(name, soon, v1.PhaseFailed)
		require.Equal(t, v1.ReasonStaleFence, v.Status.Reason, name)
		require.Contains(t, v.Status.Message, says)
		require.Contains(t, v.Status.Advice, "berth delete "+name)
	}
	require.Equal(t, v1.PhaseRunning, f.Workload("kept").Status.Phase, "what runs as it is known is left as it is")
	same()
	code, s = sweep(t, f, deleting...)
	require.NotZero(t, code)
	require.Zero(t, s.Summary.Repaired, "it is told once")
	same()
	t.Logf("shown after %s", time.Since(began).Round(time.Millisecond))

	// Each is put right by what its user says.
	remove(t, f, "gone")
	awaitSettled(f, f.Do("kept", v1.VerbRestart))
	for _, name := range []string{"again", "newer"} {
		f.Do(name, v1.VerbRetry)
		f.AwaitPhase(name, soon, v1.PhaseRunning)
	}
	f.Apply(container(t, f, "unknown"))
	f.AwaitPhase("unknown", soon, v1.PhaseRunning)
	code, s = sweep(t, f, deleting...)
	require.Zero(t, code, s.Message)
	require.Zero(t, s.Summary.Deleted+s.Summary.Repaired)
	require.ElementsMatch(t, volumes, harness.Volumes(t, f.ID))
	for _, name := range []string{"again", "newer", "kept", "unknown"} {
		purge(t, f, name)
	}
}
