package e2e

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// TestAway takes parts of a fleet away and brings them back.
func TestAway(t *testing.T) {
	f := harness.NewFleet(t)
	f.StartServer(pace...)

	// No host at all yet.
	f.Apply(container(t, f, "early"))
	v := f.AwaitWorkload("early", soon, "it waits for a host", func(v v1.View) bool { return v.Status.Reason == v1.ReasonNoMatchingHost })
	require.Equal(t, v1.PhasePending, v.Status.Phase)
	require.False(t, v.Status.Permanent)
	agent := f.StartAgent(hostName, pace...)
	f.AwaitPhase("early", soon, v1.PhaseRunning)
	first := inspect(t, f, "early")
	same := func() {
		t.Helper()
		now := inspect(t, f, "early")
		require.Equal(t, first.ID, now.ID)
		require.Equal(t, first.State.StartedAt, now.State.StartedAt)
		require.True(t, now.State.Running)
	}
	lease := f.AwaitHost(hostName, soon, v1.HostOnline).LeaseNo
	back := func() {
		t.Helper()
		agent.Start()
		harness.Eventually(t, func() bool {
			h, err := f.Client().Host(t.Context(), hostName)
			return err == nil && h.State == v1.HostOnline && h.LeaseNo > lease
		}, soon, poll)
		lease = f.AwaitHost(hostName, soon, v1.HostOnline).LeaseNo
		v := f.AwaitPhase("early", soon, v1.PhaseRunning)
		require.Zero(t, v.Status.Restarts)
		require.Equal(t, v1.ReasonNone, v.Status.Reason)
		same()
	}

	// An agent that is stopped says goodbye, and what runs goes on.
	agent.Stop()
	h := f.AwaitHost(hostName, soon, v1.HostLeft)
	require.NotEmpty(t, h.Message)
	same()
	back()

	// One that is killed and comes back before its lease ends is not missed.
	agent.Kill()
	same()
	back()

	// One that stays away is Offline; new work waits for it, and what ran there is Lost but runs.
	agent.Kill()
	f.AwaitHost(hostName, soon, v1.HostOffline)
	v = f.AwaitPhase("early", soon, v1.PhaseLost)
	require.Equal(t, v1.ReasonHostLost, v.Status.Reason)
	same()
	f.Apply(container(t, f, "later"))
	v = f.AwaitWorkload("later", soon, "it waits for a host", func(v v1.View) bool {
		return v.Status.Reason == v1.ReasonHostOffline || v.Status.Reason == v1.ReasonNoMatchingHost
	})
	require.Equal(t, v1.PhasePending, v.Status.Phase)
	stopped := f.Do("early", v1.VerbStop) // waits for the host
	agent.Start()
	f.AwaitPhase("later", soon, v1.PhaseRunning)
	v = awaitSettled(f, stopped)
	require.Equal(t, v1.PhaseStopped, v.Status.Phase)

	// A server that is killed right after it accepted something goes on with it.
	server := f.Servers[0]
	created(t, call(t, f, http.MethodPut, "/v1/workloads/accepted", container(t, f, "accepted")))
	server.Kill()
	server.Start()
	f.AwaitPhase("accepted", soon, v1.PhaseRunning)
	require.Len(t, containersOf(t, f, "accepted"), 1)

	// So does all of it when Temporal is killed, with its database.
	a := f.Do("early", v1.VerbStart)
	f.Temporal.Kill()
	f.Temporal.Start()
	f.AwaitWorkload("early", long, "it was started", func(v v1.View) bool { return settled(a)(v) && v.Status.Phase == v1.PhaseRunning })
	require.Equal(t, first.ID, inspect(t, f, "early").ID)
	for _, name := range []string{"early", "later", "accepted"} {
		f.Do(name, v1.VerbRemove)
		f.AwaitGone(name, long)
	}
	require.Empty(t, harness.Containers(t, f.ID))
}
