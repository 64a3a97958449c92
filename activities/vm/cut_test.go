package vm_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// A network that is stopped under a guest leaves its card behind, and does not plug it in again when it is back.
func TestANetworkThatIsStoppedUnderAGuestShows(t *testing.T) {
	h := newHost(t, realURI)
	w := smallGuest("web", h.guestImage())
	w.VM.Readiness, w.VM.StopGracePeriod = nil, v1.Duration(time.Second)
	network := h.network()
	w.VM.Networks = []v1.Network{{Network: network}}
	h.begin(w, 1, v1.VerbDeploy).must(deploySteps...)
	require.Equal(t, contract.RunRunning, h.observe("web").State)

	ctx, cancel := context.WithCancel(t.Context())
	looks, over := make(chan struct{}, 1024), make(chan error, 1)
	go func() { over <- h.rt.Watch(ctx, func(string) { looks <- struct{}{} }) }()
	seen := func(want contract.RunState) contract.Observation {
		t.Helper()
		deadline := time.After(2 * time.Minute)
		for {
			select {
			case <-looks:
				if o := h.observe("web"); o.State == want {
					return o
				}
			case <-deadline:
				t.Fatalf("nobody was told that it is %s", want)
			}
		}
	}
	seen(contract.RunRunning)
	begin := time.Now()
	virsh := func(args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "virsh", append([]string{"-q", "-c", realURI}, args...)...).CombinedOutput()
		require.NoErrorf(t, err, "%s", out)
	}
	virsh("net-destroy", network)
	o := seen(contract.RunUnhealthy)
	t.Logf("seen %s after the network was stopped", time.Since(begin).Round(time.Millisecond))
	require.Contains(t, o.Message, network)

	virsh("net-create", filepath.Join(h.dataDir, "network.xml"))
	require.Equal(t, contract.RunUnhealthy, h.observe("web").State)
	h.begin(w, 1, v1.VerbRestart).must(deploySteps...)
	require.Equal(t, contract.RunRunning, h.observe("web").State)
	cancel()
	require.Error(t, <-over)
	h.begin(w, 1, v1.VerbRemove).must(contract.StepRemove)
}
