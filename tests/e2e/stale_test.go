package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// held is for a server whose hosts' steps are held before their first heartbeat: Temporal gives such a step to the host anew after
// this time, so that the test has to be quicker.
var held = []string{"--activity-heartbeat", "12s"}

// refusedLate waits until the workload's status tells of a step that its host refused, because it came too late.
func refusedLate(t *testing.T, f *harness.Fleet, name, host string, step string) {
	t.Helper()
	f.AwaitWorkload(name, soon, "a late step shows", func(v v1.View) bool {
		for _, c := range v.Status.Conditions {
			if c.Reason == v1.ReasonStaleFence && strings.HasPrefix(c.Message, "host "+host+" refused a late "+step) {
				return true
			}
		}
		return false
	})
	_, out := f.CLI("get", name)
	require.Contains(t, out, "StaleFence: host "+host+" refused a late "+step)
}

// TestALateStepOnTheSameHost holds a start back until a later action is done.
func TestALateStepOnTheSameHost(t *testing.T) {
	t.Parallel()
	f := harness.NewFleet(t, harness.Failpoints())
	f.StartServer(slices.Concat(pace, held)...)
	f.StartAgent(hostName, append(pace, "--lease", "1m")...)
	f.AwaitHost(hostName, soon, v1.HostOnline)
	f.Apply(container(t, f, "held"))
	f.AwaitPhase("held", soon, v1.PhaseRunning)
	awaitSettled(f, f.Do("held", v1.VerbStop))
	events := starts(t, f)

	const place = "container.Start.begin@held"
	f.Arm(place)
	f.Do("held", v1.VerbStart)
	f.AwaitHit(place, soon)
	v := awaitSettled(f, f.Do("held", v1.VerbStop))
	require.Equal(t, v1.PhaseStopped, v.Status.Phase)
	f.Release(place)
	refusedLate(t, f, "held", hostName, "Start")
	require.False(t, inspect(t, f, "held").State.Running)
	require.Empty(t, events.Log(), "nothing was changed")
	require.Equal(t, v1.PhaseStopped, f.Workload("held").Status.Phase)
	awaitSettled(f, f.Do("held", v1.VerbStart))
	require.True(t, inspect(t, f, "held").State.Running)
	remove(t, f, "held")
}

// TestALateStepAfterAMove holds the first start on a host, freezes its agent, and lets it go on when the workload runs
// elsewhere. The host has never recorded anything of the workload.
func TestALateStepAfterAMove(t *testing.T) {
	t.Parallel()
	f := harness.NewFleet(t, harness.Failpoints())
	f.StartServer(slices.Concat(lossPace, held)...)
	first := f.StartAgent("h1", lossPace...)
	f.AwaitHost("h1", soon, v1.HostOnline)
	const place = "container.Start.begin@held"
	f.Arm(place)
	f.Apply(container(t, f, "held", moveSoon))
	f.AwaitHit(place, soon)
	first.Pause()
	f.StartAgent("h2", lossPace...)
	f.AwaitHost("h1", soon, v1.HostOffline)
	f.AwaitWorkload("held", soon, "moved", runsOn("h2"))
	kept := idOf(t, "berth."+f.ID+".h2.held")
	events := starts(t, f)

	first.Resume()
	f.AwaitHost("h1", soon, v1.HostOnline)
	harness.Eventually(t, func() bool { return len(f.AwaitHost("h1", soon, v1.HostOnline).Debts) == 0 }, soon, poll)
	f.Release(place)
	refusedLate(t, f, "held", "h1", "Start")
	require.Empty(t, on(t, f, "h1", "held"))
	require.Empty(t, events.Log(), "nothing was changed")
	require.Equal(t, kept, idOf(t, "berth."+f.ID+".h2.held"))
	v := f.Workload("held")
	require.True(t, runsOn("h2")(v))
	require.Zero(t, v.Status.Tries)
	for _, host := range []string{"h1", "h2"} {
		awaitAgreement(t, f, host, runningHere(t, f))
	}
}

// TestALateStepThatAThawedAgentWasAboutToDo thaws an agent in the midst of a start whose workload has moved: the mutation is
// refused before the agent has even been admitted again.
func TestALateStepThatAThawedAgentWasAboutToDo(t *testing.T) {
	t.Parallel()
	f := harness.NewFleet(t, harness.Failpoints())
	f.StartServer(lossPace...)
	first := f.StartAgent("h1", lossPace...)
	f.AwaitHost("h1", soon, v1.HostOnline)
	const place = "container.start.before@held"
	f.Arm(place)
	f.Apply(container(t, f, "held", moveSoon))
	f.AwaitHit(place, soon)
	events := starts(t, f)
	first.Pause()
	f.StartAgent("h2", lossPace...)
	f.AwaitWorkload("held", soon, "moved", runsOn("h2"))

	f.Release(place)
	first.Resume()
	f.AwaitHost("h1", soon, v1.HostOnline)
	harness.Eventually(t, func() bool { return len(on(t, f, "h1", "held")) == 0 }, soon, poll, "what was half made is removed")
	require.Equal(t, "berth."+f.ID+".h2.held\n", events.Log(), "only the replacement was started")
	harness.Eventually(t, func() bool { return len(f.AwaitHost("h1", soon, v1.HostOnline).Debts) == 0 }, soon, poll)
}
