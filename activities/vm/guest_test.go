package vm_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// smallGuest is a workload that boots the smallest guest and is ready when it says so.
func smallGuest(name, image string) v1.Workload {
	return v1.Workload{
		APIVersion: v1.APIVersion, Kind: v1.KindVM, Metadata: v1.Metadata{Name: name},
		VM: &v1.VMSpec{
			Common: v1.Common{Type: v1.TypeService, StopGracePeriod: v1.Duration(20 * time.Second)},
			VCPUs:  1, Memory: 128 << 20,
			Disks:       []v1.Disk{{Name: "root", Image: &v1.DiskImage{Path: image}}},
			BootTimeout: v1.Duration(time.Minute),
			Readiness:   &v1.Readiness{When: v1.ReadyConsole, Line: "GUEST-READY"},
		},
	}
}

func TestGuestLives(t *testing.T) {
	h := newHost(t, realURI)
	w := smallGuest("web", h.guestImage())
	out := h.begin(w, 1, v1.VerbDeploy).must(deploySteps...)
	require.NotEmpty(t, out.RuntimeID)
	require.Equal(t, contract.RunRunning, h.observe("web").State)

	start := time.Now()
	h.begin(w, 1, v1.VerbStop).must(contract.StepStop)
	require.Less(t, time.Since(start), 15*time.Second, "the guest heard the power button")
	h.begin(w, 1, v1.VerbRemove).must(contract.StepRemove)
}
