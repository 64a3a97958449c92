package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// TestAFrozenAgent freezes an agent, lets its work move, and thaws it: it gets no work and starts nothing of what it had.
func TestAFrozenAgent(t *testing.T) {
	t.Parallel()
	f, agents := twoHosts(t)
	f.Apply(container(t, f, "moves", moveSoon))
	first := f.AwaitWorkload("moves", soon, "runs", func(v v1.View) bool { return v.Status.Phase == v1.PhaseRunning }).Status.Host
	second := map[string]string{"h1": "h2", "h2": "h1"}[first]
	f.Apply(container(t, f, "stays", "onHostLoss: wait", "placement: {hosts: ["+first+"]}"))
	f.AwaitWorkload("stays", soon, "runs", runsOn(first))
	name := func(workload string) string { return "berth." + f.ID + "." + first + "." + workload }
	kept := idOf(t, name("stays"))
	events := starts(t, f)

	agents[first].Pause()
	f.AwaitHost(first, soon, v1.HostOffline)
	f.AwaitWorkload("moves", soon, "moved", runsOn(second))
	// Both end while nobody watches: what is still wanted here comes back, what moved does not.
	docker(t, "kill", name("moves"), name("stays"))
	f.AwaitWorkload("stays", soon, "is lost", lost)

	agents[first].Resume()
	f.AwaitHost(first, soon, v1.HostOnline)
	f.AwaitWorkload("stays", soon, "runs again", runsOn(first))
	harness.Eventually(t, func() bool { return len(on(t, f, first, "moves")) == 0 }, soon, poll, "the debt is paid")
	harness.Eventually(t, func() bool { return strings.Contains(events.Log(), name("stays")) }, soon, poll, "it started what stayed")
	require.NotContains(t, events.Log(), name("moves"), "the thawed agent started nothing that moved")
	require.Equal(t, kept, idOf(t, name("stays")))
	for host := range agents {
		awaitAgreement(t, f, host, runningHere(t, f))
	}
}

// TestAFrozenAgentWhoseHostWasReplaced thaws an agent after another machine has taken its host's place.
func TestAFrozenAgentWhoseHostWasReplaced(t *testing.T) {
	t.Parallel()
	f := harness.NewFleet(t)
	f.StartServer(lossPace...)
	old := f.StartAgent("h1", lossPace...)
	f.AwaitHost("h1", soon, v1.HostOnline)
	f.Apply(container(t, f, "data", "volumes: [{name: d, target: /d}]"))
	f.AwaitPhase("data", soon, v1.PhaseRunning)
	events := starts(t, f)

	old.Pause()
	f.AwaitHost("h1", soon, v1.HostOffline)
	code, out := f.CLI("forget", "h1")
	require.Zero(t, code, out)
	require.Contains(t, out, "data", "what may remain there is listed")
	docker(t, "kill", containerName(f, "data"))
	f.StartAgent("h1", append([]string{"--run-dir", t.TempDir()}, lossPace...)...)
	f.AwaitHost("h1", soon, v1.HostOnline)

	// The user asks for it. It must run neither on the new machine, without its data, nor by the hand of the old one.
	f.Do("data", v1.VerbRestart)
	v := f.AwaitWorkload("data", soon, "it says what happened", func(v v1.View) bool {
		return v.Status.Action == nil && v.Status.Reason == v1.ReasonHostLost && v.Status.Seq > 1
	})
	require.Contains(t, v.Status.Message, "forgotten")
	require.Contains(t, v.Status.Advice, "berth adopt h1")
	require.Contains(t, v.Status.Advice, "berth delete --force data")

	old.Resume()
	require.NotZero(t, old.Await(soon), "it is refused, and ends")
	require.Contains(t, old.Log(), "known as instance")
	require.Equal(t, "false\n", docker(t, "inspect", "-f", "{{.State.Running}}", containerName(f, "data")))
	require.Empty(t, events.Log(), "nobody started anything")
	require.Equal(t, v1.HostOnline, f.AwaitHost("h1", soon, v1.HostOnline).State)
}
