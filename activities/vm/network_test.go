package vm_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/vm"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// hosts are the static addresses of the synthetic hypervisor's own network.
func (h *host) hosts() []vm.DHCPHost {
	h.t.Helper()
	n, err := h.driver.Network(context.Background(), "default")
	require.NoError(h.t, err)
	return n.Hosts
}

func TestStaticAddressIsGivenAndTakenBack(t *testing.T) {
	h := newHost(t, syntheticURI)
	before := h.hosts()
	w := blankGuest("web")
	w.VM.Networks = []v1.Network{{Network: "default", IP: "192.168.122.77"}}
	deploy := h.begin(w, 1, v1.VerbDeploy)
	deploy.step(contract.StepPrepare)
	deploy.step(contract.StepCreate)
	require.Equal(t, before, h.hosts(), "nothing is given before the start")
	deploy.step(contract.StepStart)
	deploy.step(contract.StepStart) // its answer was lost
	require.Len(t, h.hosts(), len(before)+1)
	given := h.hosts()[len(before)]
	require.Equal(t, "192.168.122.77", given.IP)
	require.Contains(t, h.domainXML("web"), given.MAC)
	deploy.must(contract.StepAwaitReady)

	other := blankGuest("other")
	other.VM.Networks = w.VM.Networks
	_, err := h.begin(other, 1, v1.VerbDeploy).run(contract.StepPrepare, false)
	requireReason(t, v1.ReasonPortConflict, false, err)

	w.VM.Networks = []v1.Network{{Network: "default", IP: "192.168.122.78"}}
	h.begin(w, 2, v1.VerbDeploy).must(deploySteps...)
	require.Len(t, h.hosts(), len(before)+1, "the old one went")
	require.Equal(t, "192.168.122.78", h.hosts()[len(before)].IP)

	h.begin(w, 2, v1.VerbStop).must(contract.StepStop)
	require.Len(t, h.hosts(), len(before)+1, "a stopped one keeps its address")
	h.begin(w, 2, v1.VerbRemove).must(contract.StepRemove)
	require.Equal(t, before, h.hosts())
}

func TestSomebodyElsesEntryStays(t *testing.T) {
	h := newHost(t, syntheticURI)
	mine := vm.DHCPHost{MAC: "52:54:00:12:34:56", IP: "192.168.122.90"}
	require.NoError(t, h.driver.AddDHCPHost(context.Background(), "default", mine))
	t.Cleanup(func() { require.NoError(t, h.driver.RemoveDHCPHost(context.Background(), "default", mine)) })
	w := blankGuest("web")
	w.VM.Networks = []v1.Network{{Network: "default", IP: mine.IP, MAC: mine.MAC}}
	h.begin(w, 1, v1.VerbDeploy).must(deploySteps...)
	h.begin(w, 1, v1.VerbRemove).must(contract.StepRemove)
	require.Contains(t, h.hosts(), mine)
}
