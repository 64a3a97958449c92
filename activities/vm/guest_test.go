package vm_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/disk"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// smallGuest is a workload that boots the smallest guest and is ready when it says so.
func smallGuest(name, image string) v1.Workload {
	return v1.Workload{
		APIVersion: v1.APIVersion, Kind: v1.KindVM, Metadata: v1.Metadata{Name: name},
		VM: &v1.VMSpec{
			Common: v1.Common{Type: v1.TypeService, StopGracePeriod: v1.Duration(5 * time.Minute)},
			VCPUs:  1, Memory: 128 << 20,
			Disks:       []v1.Disk{{Name: "root", Image: &v1.DiskImage{Path: image}}},
			BootTimeout: v1.Duration(10 * time.Minute),
			Readiness:   &v1.Readiness{When: v1.ReadyConsole, Line: "GUEST-READY"},
		},
	}
}

// console is what the guest has said, in one string.
func (h *host) console(workload string) string {
	h.t.Helper()
	rec, err := h.store.Get(workload)
	require.NoError(h.t, err)
	lines, err := h.rt.Logs(context.Background(), rec, 1000)
	require.NoError(h.t, err)
	return strings.Join(lines, "\n")
}

func TestGuestLives(t *testing.T) {
	h := newHost(t, realURI)
	mine := filepath.Join(h.dataDir, "mine.raw")
	require.NoError(t, disk.CreateBlank(context.Background(), mine, v1.FormatRaw, 1<<20))
	w := smallGuest("web", h.guestImage())
	w.VM.Disks[0].Size = 64 << 20
	w.VM.Disks = append(w.VM.Disks, v1.Disk{Name: "mine", Path: mine, Format: v1.FormatRaw})
	w.VM.CloudInit = &v1.CloudInit{UserData: "#cloud-config\npassword: hunter2\n"}
	w.VM.Metadata = map[string]string{"owner": "ops & dev"}
	w.VM.Networks = []v1.Network{{Network: h.network(), IP: "10.213.77.9"}}

	deploy := h.begin(w, 1, v1.VerbDeploy)
	for _, s := range deploySteps[:3] {
		deploy.step(s)
	}
	_, err := deploy.run(contract.StepAwaitReady, true)
	require.NoError(t, err, "%s", h.console("web"))
	require.Equal(t, contract.RunRunning, h.observe("web").State)
	require.Eventually(t, func() bool {
		return len(h.observe("web").Addresses) == 1 && h.observe("web").Addresses[0] == "10.213.77.9"
	}, 2*time.Minute, 100*time.Millisecond)
	said := h.console("web")
	for _, want := range []string{"disk: 131072 sectors", "boots: 1", "disk vdb: 2048 sectors", "seed: cidata", `local-hostname: "web"`} {
		require.Contains(t, said, want)
	}
	require.NotContains(t, said, "boots: 2")

	begin := time.Now()
	h.begin(w, 1, v1.VerbStop).must(contract.StepStop)
	require.Less(t, time.Since(begin), w.VM.StopGracePeriod.D(), "the guest heard the power button")
	require.Contains(t, h.console("web"), "POWEROFF")

	w.VM.Memory = 160 << 20
	h.begin(w, 2, v1.VerbDeploy).must(deploySteps...)
	require.Contains(t, h.console("web"), "boots: 2", "a new generation has the same disk")
	require.Equal(t, 2, strings.Count(h.console("web"), "GUEST-READY"), "it was not ready by what the first boot said")

	h.begin(w, 2, v1.VerbRemove).must(contract.StepRemove)
	require.Equal(t, contract.RunAbsent, h.observe("web").State)
	require.Equal(t, []string{"record.json"}, h.files("web"))
	_, err = disk.InspectAs(mine, v1.FormatRaw)
	require.NoError(t, err)
	images, err := filepath.Glob(filepath.Join(h.dataDir, "images", "*.qcow2"))
	require.NoError(t, err)
	require.Len(t, images, 1)
	requireRootOwns(t, images[0])
}

// requireRootOwns checks that libvirt did not make a shared image QEMU's own.
func requireRootOwns(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	st, ok := info.Sys().(*syscall.Stat_t)
	require.True(t, ok)
	require.Zero(t, st.Uid)
	require.Zero(t, info.Mode().Perm()&0o222)
}

func TestGuestNeverReady(t *testing.T) {
	h := newHost(t, realURI)
	w := smallGuest("deaf", h.guestImage())
	w.VM.Disks[0].Mode = v1.DiskCopy
	w.VM.Readiness.Line = "what it never says"
	w.VM.BootTimeout = v1.Duration(time.Second)
	w.VM.StopGracePeriod = v1.Duration(100 * time.Millisecond)
	deploy := h.begin(w, 1, v1.VerbDeploy)
	for _, s := range deploySteps[:3] {
		deploy.step(s)
	}
	_, err := deploy.run(contract.StepAwaitReady, true)
	requireReason(t, v1.ReasonBootTimeout, false, err)
	require.Contains(t, err.Error(), "console")

	// It is not far enough in its boot to hear the power button: it is ended by force.
	h.begin(w, 1, v1.VerbStop).must(contract.StepStop)
	require.Equal(t, v1.ReasonInterrupted, h.observe("deaf").Exit.Outcome)
	h.begin(w, 1, v1.VerbRemove).must(contract.StepRemove)
}

func TestGuestDies(t *testing.T) {
	h := newHost(t, realURI)
	w := smallGuest("job", h.guestImage())
	w.VM.Type, w.VM.Readiness = v1.TypeJob, nil
	deploy := h.begin(w, 1, v1.VerbDeploy)
	deploy.ref.Attempt = 1
	deploy.must(deploySteps...)
	pid, err := exec.Command("pgrep", "-f", "guest="+h.domain("job")+",").Output()
	require.NoError(t, err)
	require.NoError(t, exec.Command("kill", "-KILL", strings.TrimSpace(string(pid))).Run())
	require.Eventually(t, func() bool { return h.observe("job").State == contract.RunExited }, 2*time.Minute, 20*time.Millisecond)
	exit := h.observe("job").Exit
	require.Equal(t, 1, exit.Code)
	require.Equal(t, v1.ReasonExited, exit.Outcome)
	h.begin(w, 1, v1.VerbRemove).must(contract.StepRemove)
}

// network makes a network without a way out, with DHCP, that ends with the test.
func (h *host) network() string {
	h.t.Helper()
	name := testFleet + "-" + h.name
	file := filepath.Join(h.dataDir, "network.xml")
	require.NoError(h.t, os.WriteFile(file, []byte(`<network><name>`+name+`</name><bridge name="bt`+h.name[len(h.name)-8:]+`"/>
<ip address="10.213.77.1" netmask="255.255.255.0"><dhcp><range start="10.213.77.2" end="10.213.77.20"/></dhcp></ip></network>`), 0o600))
	virsh := func(args ...string) {
		out, err := exec.Command("virsh", append([]string{"-q", "-c", realURI}, args...)...).CombinedOutput()
		require.NoError(h.t, err, "%s", out)
	}
	virsh("net-create", file)
	h.t.Cleanup(func() { virsh("net-destroy", name) })
	return name
}
