package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// TestARebootedHost lets a host lose its power, with an engine of its own, and boots it: the engine first, then the agent.
func TestARebootedHost(t *testing.T) {
	t.Parallel()
	f := harness.NewFleet(t)
	f.StartServer(lossPace...)
	link := f.NewNet("h1")
	engine := link.StartEngine()
	engine.Load(harness.ContainerImage(t))
	machine := harness.NewMachine(t)
	agent := f.StartAgentIn(link, "h1", withGuests(t, "--docker-host", engine.Address, "--procfs", machine.ProcFS)...)
	f.AwaitHost("h1", soon, v1.HostOnline)
	f.Apply(container(t, f, "moves", moveSoon))
	f.AwaitWorkload("moves", soon, "runs on h1", runsOn("h1"))
	f.StartAgent("h2", lossPace...)
	f.AwaitHost("h2", soon, v1.HostOnline)
	const onH1 = "placement: {hosts: [h1]}"
	f.Apply(container(t, f, "data", onH1, "volumes: [{name: d, target: /d}]", "ports: [{container: 8080, host: 8080}]",
		"restart: {policy: no}", shell("echo >>/d/starts; "+idle)))
	f.Apply(container(t, f, "stopped", onH1))
	f.AwaitWorkload("data", soon, "runs", runsOn("h1"))
	f.AwaitWorkload("stopped", soon, "runs", runsOn("h1"))
	awaitSettled(f, f.Do("stopped", v1.VerbStop))
	startGuest(t, f, "guest", "h1", "restart: {policy: no}")
	name := func(workload string) string { return "berth." + f.ID + ".h1." + workload }
	id := engine.Docker("inspect", "-f", "{{.Id}}", name("data"))
	startedAt := func(workload string) string {
		return engine.Docker("inspect", "-f", "{{.State.StartedAt}}", name(workload))
	}
	movesStarted := startedAt("moves")

	agent.Kill()
	engine.Crash()
	harness.CrashDomains(t, f.ID, "h1")
	f.AwaitHost("h1", soon, v1.HostOffline)
	f.AwaitWorkload("moves", soon, "moved", runsOn("h2"))
	f.AwaitWorkload("data", soon, "is lost", lost)
	f.AwaitWorkload("guest", soon, "is lost", lost)

	machine.Boot()
	engine.Start()
	require.Empty(t, strings.TrimSpace(engine.Docker("ps", "--quiet")), "nothing starts before the agent does")
	require.Equal(t, movesStarted, startedAt("moves"))
	before := stateOf(t, f, "h1")
	events := harness.Run(t, harness.Command{Name: "engine-events", Path: "docker", Args: []string{
		"--host", engine.Address, "events", "--since", "0", "--filter", "event=start", "--format", "{{.Actor.Attributes.name}}",
	}})
	agent.Start()
	f.AwaitHost("h1", soon, v1.HostOnline)
	require.NotEqual(t, before.BootID, stateOf(t, f, "h1").BootID)
	harness.Eventually(t, func() bool {
		return engine.Docker("inspect", "-f", "{{.State.Running}}", name("data")) == "true\n"
	}, soon, poll)
	for _, workload := range []string{"data", "guest"} {
		v := f.AwaitWorkload(workload, long, "runs again", runsOn("h1"))
		require.Zero(t, v.Status.Restarts, "%s: a reboot is not the workload's fault", workload)
	}
	require.Equal(t, id, engine.Docker("inspect", "-f", "{{.Id}}", name("data")), "what was not replaced is kept")
	harness.Eventually(t, func() bool {
		return strings.Count(engine.Docker("exec", name("data"), "cat", "/d/starts"), "\n") == 2
	}, soon, poll, "with its volume")
	f.AwaitPhase("stopped", soon, v1.PhaseStopped)
	require.Equal(t, "false\n", engine.Docker("inspect", "-f", "{{.State.Running}}", name("stopped")))
	require.NotContains(t, engine.Docker("ps", "--all", "--format", "{{.Names}}"), name("moves"), "the debt is paid")
	require.NotContains(t, events.Log(), name("moves"), "what moved was not started again")

	remove(t, f, "stopped")
	awaitAgreement(t, f, "h1", func() []string {
		return append(strings.Fields(engine.Docker("ps", "--format", "{{.Names}}")), harness.RunningDomains(t, f.ID)...)
	})
	awaitAgreement(t, f, "h2", runningHere(t, f))
}
