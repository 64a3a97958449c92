package e2e

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// TestNoRoomLeaks meets placement with what could leave room reserved for nobody. Each test ends with a ledger that holds just
// what runs.
func TestNoRoomLeaks(t *testing.T) {
	t.Parallel()
	hasty := append([]string{"--grant", "3s"}, lossPace...)
	f := harness.NewFleet(t, harness.Failpoints())
	f.StartServer(hasty...)
	agents := map[string]*harness.Agent{}
	for _, host := range []string{"h1", "h2"} {
		agents[host] = f.StartAgent(host, append([]string{"--memory", "300Mi"}, hasty...)...)
		f.AwaitHost(host, soon, v1.HostOnline)
	}
	agree := func(t *testing.T, f *harness.Fleet) {
		t.Helper()
		for host := range agents {
			awaitAgreement(t, f, host, runningHere(t, f))
		}
	}
	t.Run("the server is killed between the grant and its record", func(t *testing.T) {
		f := f.In(t)
		const place = "Place.reserve.after@granted"
		f.ArmKill(place)
		f.Apply(container(t, f, "granted", big))
		f.AwaitHit(place, soon)
		require.NotZero(t, f.Servers[0].Await(soon))
		f.Release(place)
		f.Servers[0].Start()
		f.AwaitPhase("granted", long, v1.PhaseRunning)
		agree(t, f)
		remove(t, f, "granted")
		agree(t, f)
	})
	t.Run("nobody comes for a grant", func(t *testing.T) {
		f := f.In(t)
		const place = "Place.reserve.after@dropped"
		f.Arm(place)
		f.Apply(container(t, f, "dropped", big))
		f.AwaitHit(place, soon)
		f.Do("dropped", v1.VerbRemove)
		f.AwaitGone("dropped", soon)
		f.Release(place)
		agree(t, f)
	})
	t.Run("a reserve lands after its release", func(t *testing.T) {
		f := f.In(t)
		f.Apply(container(t, f, "late", big))
		f.AwaitPhase("late", soon, v1.PhaseRunning)
		const place = "Place.reserve.before@late"
		f.Arm(place)
		f.Apply(container(t, f, "late", big, "env: {A: b}"))
		f.AwaitHit(place, soon)
		host := f.Workload("late").Status.Host
		f.Do("late", v1.VerbRemove)
		f.AwaitGone("late", soon)
		harness.Eventually(t, func() bool { return stateOf(t, f, host).Ledger.Marks["late"].Fence != 0 }, soon, poll)
		f.Release(place)
		// What is reserved next comes after the late one.
		f.Apply(container(t, f, "next", big, "placement: {hosts: ["+host+"]}"))
		f.AwaitPhase("next", soon, v1.PhaseRunning)
		agree(t, f)
		remove(t, f, "next")
	})
	t.Run("the host that granted is lost", func(t *testing.T) {
		f := f.In(t)
		const place = "Place.end@homeless"
		f.Arm(place)
		f.Apply(container(t, f, "homeless", big, "ports: [{container: 8080, host: "+strconv.Itoa(harness.FreePort(t))+"}]"))
		f.AwaitHit(place, soon)
		granted := "h1"
		if _, here := stateOf(t, f, "h1").Ledger.Entries["homeless"]; !here {
			granted = "h2"
		}
		agents[granted].Kill()
		f.AwaitHost(granted, soon, v1.HostOffline)
		f.Release(place)
		v := f.AwaitPhase("homeless", long, v1.PhaseRunning)
		require.NotEqual(t, granted, v.Status.Host, "another host has room, and nobody waits for this one")
		harness.Eventually(t, func() bool { return len(stateOf(t, f, granted).Ledger.Entries) == 0 }, soon, poll)
		agents[granted].Start()
		f.AwaitHost(granted, soon, v1.HostOnline)
		agree(t, f)
		remove(t, f, "homeless")
		agree(t, f)
	})
}
