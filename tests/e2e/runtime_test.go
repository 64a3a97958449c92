package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// relayed is a fleet whose agent has relays to the runtimes, which are shut. No slowness ends its lease.
func relayed(t *testing.T) (f *harness.Fleet, docker, libvirt *harness.Relay) {
	t.Helper()
	docker, libvirt = harness.NewDockerRelay(t), harness.NewLibvirtRelay(t)
	f = fleet(t, "--docker-host", "unix://"+docker.Path, "--libvirt-uri", "qemu:///system?socket="+libvirt.Path, "--lease", "1m")
	return f, docker, libvirt
}

// TestRuntimesComeAndGo gives an agent sockets of Docker and libvirt behind which nobody listens at first.
func TestRuntimesComeAndGo(t *testing.T) {
	f, docker, libvirt := relayed(t)

	require.Falsef(t, runtimes(t, f)["docker"].Ready, "%v", runtimes(t, f))
	require.False(t, runtimes(t, f)["libvirt"].Ready)
	for name, r := range runtimes(t, f) {
		require.NotEmptyf(t, r.Message, "%s says why", name)
	}
	f.Apply(container(t, f, "box"))
	f.Apply(vm(f, "guest", harness.ServeFile(t, harness.GuestImage(t)).URL, "", "stopGracePeriod: 5s"))
	for _, name := range []string{"box", "guest"} {
		f.AwaitWorkload(name, soon, "it waits for its runtime", func(v v1.View) bool {
			return v.Status.Phase == v1.PhasePending && v.Status.Reason == v1.ReasonRuntimeUnavailable
		})
	}

	libvirt.Open()
	f.AwaitPhase("guest", long, v1.PhaseRunning)
	require.True(t, runtimes(t, f)["libvirt"].Ready)
	require.False(t, runtimes(t, f)["docker"].Ready)
	remove(t, f, "guest")

	docker.Open()
	f.AwaitPhase("box", soon, v1.PhaseRunning)
	first := inspect(t, f, "box")

	// Out of sight is not gone.
	docker.Shut()
	harness.Eventually(t, func() bool { return !runtimes(t, f)["docker"].Ready }, soon, poll)
	require.Equal(t, v1.PhaseRunning, f.Workload("box").Status.Phase)
	docker.Open()
	harness.Eventually(t, func() bool { return runtimes(t, f)["docker"].Ready }, soon, poll)
	v := f.AwaitPhase("box", soon, v1.PhaseRunning)
	require.Zero(t, v.Status.Restarts)
	require.Equal(t, first.State.StartedAt, inspect(t, f, "box").State.StartedAt)
	remove(t, f, "box")
}

// runtimes are what the host says of its runtimes, by name.
func runtimes(t *testing.T, f *harness.Fleet) map[string]v1.Runtime {
	t.Helper()
	h, err := f.Client().Host(t.Context(), hostName)
	require.NoError(t, err)
	all := map[string]v1.Runtime{}
	for _, r := range h.Runtimes {
		all[r.Name] = r
	}
	require.Len(t, all, 2)
	return all
}
