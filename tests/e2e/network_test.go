package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
)

// TestAddressesFollowTheContainer takes a running container off its network, puts it back, and ends it.
func TestAddressesFollowTheContainer(t *testing.T) {
	f := fleet(t)
	f.Apply(container(t, f, "web", "restart: {policy: no}"))
	first := f.AwaitWorkload("web", soon, "it has an address", func(v v1.View) bool { return len(v.Status.Addresses) > 0 })
	id := inspect(t, f, "web").ID

	began := time.Now()
	docker(t, "network", "disconnect", "bridge", containerName(f, "web"))
	v := f.AwaitWorkload("web", soon, "its address is gone", func(v v1.View) bool { return len(v.Status.Addresses) == 0 })
	t.Logf("from the disconnect to the status: at most %s", time.Since(began).Round(time.Millisecond))
	require.Equal(t, v1.PhaseRunning, v.Status.Phase)
	require.Len(t, v.Status.Conditions, 1)
	require.Equal(t, v1.ReasonDisconnected, v.Status.Conditions[0].Reason)
	require.Contains(t, v.Status.Conditions[0].Message, "docker network connect bridge "+containerName(f, "web"))

	docker(t, "network", "connect", "bridge", containerName(f, "web"))
	v = f.AwaitWorkload("web", soon, "it has an address again", func(v v1.View) bool { return len(v.Status.Addresses) > 0 })
	require.Empty(t, v.Status.Conditions)
	require.Equal(t, first.Status.StartedAt, v.Status.StartedAt)
	require.Equal(t, id, inspect(t, f, "web").ID)

	docker(t, "kill", containerName(f, "web"))
	v = f.AwaitWorkload("web", soon, "it has ended", func(v v1.View) bool { return v.Status.ExitCode != nil || v.Status.Phase == v1.PhaseDegraded })
	require.Empty(t, v.Status.Addresses)
	require.Empty(t, v.Status.Ports)
	remove(t, f, "web")
}
