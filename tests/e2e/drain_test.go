package e2e

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

const onH1 = "placement: {labels: [rack=a]}"

func awaitDrain(t *testing.T, f *harness.Fleet, host, what string, wanted func(*v1.Drain) bool) v1.Host {
	t.Helper()
	var h v1.Host
	harness.Eventually(t, func() bool {
		var err error
		h, err = f.Client().Host(t.Context(), host)
		return err == nil && h.Drain != nil && wanted(h.Drain)
	}, long, poll, what)
	return h
}

func ended(d *v1.Drain) bool { return d.EndedAt != nil }

// standings are where those stand that are left, by name.
func standings(d *v1.Drain) map[string]v1.DrainStanding {
	all := map[string]v1.DrainStanding{}
	for _, w := range d.Workloads {
		all[w.Name] = w.Standing
	}
	return all
}

func TestADrainMovesWhatCanMoveAndStopsTheRestWhenForced(t *testing.T) {
	t.Parallel()
	f, agents := twoHosts(t)
	f.CLI("cordon", "h2")
	port := harness.FreePort(t)
	f.Apply(container(t, f, "web", "healthCheck: {command: [\"true\"], interval: 1s}"))
	f.Apply(container(t, f, "port", "ports: [{container: 80, host: "+strconv.Itoa(port)+"}]"))
	f.Apply(container(t, f, "data", "volumes: [{name: data, target: /data}]"))
	f.Apply(container(t, f, "batch", "type: job", "job: {maxAttempts: 2}"))
	f.Apply(container(t, f, "idle"))
	for _, name := range []string{"web", "port", "data", "batch", "idle"} {
		f.AwaitWorkload(name, long, "runs on h1", runsOn("h1"))
	}
	f.Do("idle", v1.VerbStop)
	f.AwaitPhase("idle", soon, v1.PhaseStopped)
	kept := idOf(t, "berth."+f.ID+".h1.data")

	code, out := f.CLI("drain", "h1", "--max-parallel", "2")
	require.Zero(t, code, out)
	require.Contains(t, out, "draining")
	awaitDrain(t, f, "h1", "all but data and batch wait for room", func(d *v1.Drain) bool {
		s := standings(d)
		return d.Gone == 1 && s["web"] == v1.DrainWaiting && s["port"] == v1.DrainWaiting && s["data"] == v1.DrainStaying && s["batch"] == v1.DrainStaying
	})
	// It may be asking for room at this moment, and shows that instead.
	f.AwaitWorkload("web", soon, "nothing is stopped that has nowhere to go", func(v v1.View) bool {
		return v.Status.Reason == v1.ReasonHostDraining && v.Status.Phase == v1.PhaseRunning
	})

	// Everything of Berth dies and comes back, and the drain goes on. Nothing may move before h1 is back: from a host that is
	// lost, old copies are not removed.
	before := f.AwaitHost("h1", soon, v1.HostOnline)
	f.Servers[0].Kill()
	agents["h1"].Kill()
	agents["h2"].Kill()
	f.Servers[0].Start()
	agents["h1"].Start()
	agents["h2"].Start()
	harness.Eventually(t, func() bool {
		h, err := f.Client().Host(t.Context(), "h1")
		return err == nil && h.State == v1.HostOnline && h.LeaseNo > before.LeaseNo
	}, soon, poll, "h1 is back")
	f.AwaitHost("h2", soon, v1.HostOnline)
	f.CLI("uncordon", "h2")
	for _, name := range []string{"web", "port"} {
		f.AwaitWorkload(name, long, "runs on h2", runsOn("h2"))
	}
	h := awaitDrain(t, f, "h1", "two are left", func(d *v1.Drain) bool { return d.Left == 2 })
	require.Nil(t, h.Drain.EndedAt)
	require.Empty(t, on(t, f, "h1", "web"))
	require.Empty(t, on(t, f, "h1", "port"))
	moved := relocations(t, f, "web")
	require.Equal(t, "h2", moved[0].Host)
	require.Equal(t, "h1", moved[1].Host)
	require.False(t, moved[1].StartedAt.Before(*moved[0].EndedAt), "the old copy is removed once its replacement is healthy")
	f.AwaitPhase("data", soon, v1.PhaseRunning)
	require.Equal(t, kept, idOf(t, "berth."+f.ID+".h1.data"))

	code, out = f.CLI("drain", "h1", "--force", "--wait")
	require.Zero(t, code, out)
	require.Contains(t, out, "drained")
	f.AwaitWorkload("data", soon, "is stopped until its host takes work again", func(v v1.View) bool {
		return v.Status.Phase == v1.PhasePending && v.Status.Reason == v1.ReasonHostDraining
	})
	v := f.AwaitWorkload("batch", soon, "its next attempt runs on h2", runsOn("h2"))
	require.Equal(t, string(v1.ReasonInterrupted), v.Attempts[0].Outcome)
	f.Apply(container(t, f, "new", onH1))
	f.AwaitWorkload("new", soon, "is refused", func(v v1.View) bool { return v.Status.Reason == v1.ReasonNoMatchingHost })

	code, out = f.CLI("uncordon", "h1")
	require.Zero(t, code, out)
	f.AwaitWorkload("data", soon, "starts again", runsOn("h1"))
	f.AwaitWorkload("new", soon, "runs", runsOn("h1"))
	for _, name := range []string{"web", "port", "data", "batch", "idle", "new"} {
		remove(t, f, name)
	}
	for _, host := range []string{"h1", "h2"} {
		harness.Eventually(t, func() bool {
			h, err := f.Client().Host(t.Context(), host)
			return err == nil && h.Workloads == 0 && h.Reserved == v1.Amounts{}
		}, soon, poll, "nothing is held on %s", host)
	}
}

// relocations are the actions of a move: the deploy on the new host, and the removal on the old one.
func relocations(t *testing.T, f *harness.Fleet, name string) []v1.Action {
	t.Helper()
	var all []v1.Action
	harness.Eventually(t, func() bool {
		list, err := f.Client().Actions(t.Context(), client.ActionFilter{Workload: name, Verb: string(v1.VerbRelocate)})
		if err != nil {
			return false
		}
		all = nil
		for i := len(list.Items) - 1; i >= 0; i-- {
			if a := list.Items[i]; a.Outcome == v1.OutcomeSucceeded {
				all = append(all, a)
			}
		}
		return len(all) == 2
	}, soon, poll, "a deploy and a removal")
	return all
}

func TestADrainThatIsEndedLeavesAllWhereItIs(t *testing.T) {
	t.Parallel()
	f, _ := twoHosts(t)
	f.CLI("cordon", "h2")
	f.Apply(container(t, f, "web"))
	f.AwaitWorkload("web", soon, "runs on h1", runsOn("h1"))
	id := idOf(t, "berth."+f.ID+".h1.web")
	f.CLI("drain", "h1", "--deadline", "1h")
	awaitDrain(t, f, "h1", "it waits for room", func(d *v1.Drain) bool { return standings(d)["web"] == v1.DrainWaiting })
	f.CLI("uncordon", "h1")
	f.AwaitWorkload("web", soon, "runs as before", func(v v1.View) bool { return v.Status.Reason == v1.ReasonNone && runsOn("h1")(v) })
	f.CLI("uncordon", "h2")
	f.Apply(container(t, f, "other", "placement: {hosts: [h2]}"))
	f.AwaitWorkload("other", soon, "runs on h2", runsOn("h2"))
	require.Equal(t, id, idOf(t, "berth."+f.ID+".h1.web"), "room that appears moves nothing any more")
	remove(t, f, "web")
	remove(t, f, "other")
}

func TestADrainOfAHostWhoseAgentWasStopped(t *testing.T) {
	t.Parallel()
	f, agents := twoHosts(t)
	f.CLI("cordon", "h2")
	f.Apply(container(t, f, "web"))
	f.AwaitWorkload("web", soon, "runs on h1", runsOn("h1"))
	agents["h1"].Stop()
	f.AwaitHost("h1", soon, v1.HostLeft)
	f.CLI("uncordon", "h2")
	f.CLI("drain", "h1")
	f.AwaitWorkload("web", long, "runs on h2", runsOn("h2"))
	awaitDrain(t, f, "h1", "it holds nothing", ended)
	require.Len(t, on(t, f, "h1", "web"), 1, "nobody is there to remove the old copy")
	agents["h1"].Start()
	f.AwaitHost("h1", soon, v1.HostOnline)
	harness.Eventually(t, func() bool { return len(on(t, f, "h1", "web")) == 0 }, soon, poll, "the debt is paid")
	require.Len(t, on(t, f, "h2", "web"), 1)
	remove(t, f, "web")
}

func TestADrainStopsAMachineAtTheDeadlineAndKeepsItsDisk(t *testing.T) {
	t.Parallel()
	oneGuest(t)
	f, _ := twoHosts(t)
	srv := harness.ServeFile(t, ownImage(t))
	f.Apply(vm(f, "db", srv.URL, "", onH1, ready))
	f.AwaitWorkload("db", 2*long, "runs on h1", runsOn("h1"))
	require.Contains(t, console(t, f, "db"), "boots: 1")

	code, out := f.CLI("drain", "h1", "--deadline", "1s", "--wait")
	require.Zero(t, code, out)
	f.AwaitWorkload("db", soon, "waits for its host", func(v v1.View) bool { return v.Status.Reason == v1.ReasonHostDraining })
	require.Empty(t, harness.RunningDomains(t, f.ID))
	h, err := f.Client().Host(t.Context(), "h1")
	require.NoError(t, err)
	require.Equal(t, v1.DrainStopped, standings(h.Drain)["db"])
	require.Zero(t, h.Reserved.Memory, "only its disk is held")

	f.CLI("uncordon", "h1")
	f.AwaitWorkload("db", 2*long, "runs on h1 again", runsOn("h1"))
	require.Contains(t, console(t, f, "db"), "boots: 2", "its disk was kept")
	remove(t, f, "db")
}
