package vm_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/disk"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// blankGuest is a workload for the hypervisor that only keeps books: nothing of it is ever booted.
func blankGuest(name string) v1.Workload {
	return v1.Workload{
		APIVersion: v1.APIVersion, Kind: v1.KindVM, Metadata: v1.Metadata{Name: name},
		VM: &v1.VMSpec{
			Common: v1.Common{StopGracePeriod: v1.Duration(10 * time.Second)},
			VCPUs:  1, Memory: 64 << 20, Disks: []v1.Disk{{Name: "root", Size: 8 << 20}},
		},
	}
}

// files are the names in the workload's directory.
func (h *host) files(workload string) (names []string) {
	entries, err := os.ReadDir(h.dir(workload))
	require.NoError(h.t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestRemoveLeavesNothingButTheUsersDisk(t *testing.T) {
	h := newHost(t, syntheticURI)
	mine := filepath.Join(h.dataDir, "mine.qcow2")
	require.NoError(t, disk.CreateBlank(context.Background(), mine, v1.FormatQCOW2, 1<<20))
	w := blankGuest("web")
	w.VM.Disks = append(w.VM.Disks, v1.Disk{Name: "mine", Path: mine, Format: v1.FormatQCOW2}, v1.Disk{Name: "raw", Size: 1_000_001, Format: v1.FormatRaw}, v1.Disk{Name: "odd", Size: 10_000_000})
	w.VM.CloudInit = &v1.CloudInit{UserData: "#cloud-config\n"}

	h.begin(w, 1, v1.VerbDeploy).must(deploySteps...)
	require.Equal(t, contract.RunRunning, h.observe("web").State)
	require.Subset(t, h.files("web"), []string{"disk-root.qcow2", "disk-raw.raw", "disk-odd.qcow2", "seed.iso"})
	h.begin(w, 2, v1.VerbDeploy).must(deploySteps...) // sizes that are no whole sectors are rounded the same way

	h.begin(w, 1, v1.VerbRemove).must(contract.StepRemove)
	require.Equal(t, contract.RunAbsent, h.observe("web").State)
	require.Equal(t, []string{"record.json"}, h.files("web"))
	_, err := disk.Inspect(mine)
	require.NoError(t, err)

	again := h.begin(w, 1, v1.VerbRemove).must(contract.StepRemove)
	require.Equal(t, "no domain", again.Found)
}

func TestNewGenerationKeepsDisks(t *testing.T) {
	h := newHost(t, syntheticURI)
	w := blankGuest("web")
	w.VM.CloudInit = &v1.CloudInit{UserData: "#cloud-config\n"}
	first := h.begin(w, 1, v1.VerbDeploy).must(deploySteps...)
	root := filepath.Join(h.dir("web"), "disk-root.qcow2")
	before, err := os.Stat(root)
	require.NoError(t, err)
	seedBefore, err := os.ReadFile(filepath.Join(h.dir("web"), "seed.iso"))
	require.NoError(t, err)

	w.VM.VCPUs, w.VM.Disks[0].Size = 2, 16<<20
	w.VM.Disks = append(w.VM.Disks, v1.Disk{Name: "more", Size: 1 << 20})
	deploy := h.begin(w, 2, v1.VerbDeploy)
	deploy.step(contract.StepPrepare)
	created := deploy.step(contract.StepCreate)
	require.Equal(t, "replaced the domain of generation 1", created.Found)
	require.Equal(t, []string{"more"}, created.Made)
	second := deploy.must(contract.StepStart, contract.StepAwaitReady)

	require.Equal(t, first.RuntimeID, second.RuntimeID)
	after, err := os.Stat(root)
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after), "the disk was kept")
	info, err := disk.Inspect(root)
	require.NoError(t, err)
	require.EqualValues(t, 16<<20, info.VirtualSize)
	seedAfter, err := os.ReadFile(filepath.Join(h.dir("web"), "seed.iso"))
	require.NoError(t, err)
	require.Equal(t, seedBefore, seedAfter, "nothing new for cloud-init")
	require.Contains(t, h.domainXML("web"), `generation="2"`)

	w.VM.Disks[0].Size = 1 << 20
	_, err = h.begin(w, 3, v1.VerbDeploy).run(contract.StepCreate, false)
	requireReason(t, v1.ReasonImmutable, true, err)
}

func TestCreateGoesOnAfterACrash(t *testing.T) {
	h := newHost(t, syntheticURI)
	w := blankGuest("web")
	deploy := h.begin(w, 1, v1.VerbDeploy)
	deploy.step(contract.StepCreate)
	h.reopen() // before its answer was heard
	again := deploy.step(contract.StepCreate)
	require.Equal(t, "kept the domain that an earlier try defined", again.Found)
	require.Equal(t, []string{"root"}, again.Made, "it is told of all the same")

	// The definition is gone, the disk is there: it is defined anew.
	require.NoError(t, h.driver.Undefine(context.Background(), h.domain("web"), false))
	require.Empty(t, deploy.step(contract.StepCreate).Found)

	deploy.step(contract.StepStart)
	h.reopen()
	require.Equal(t, "it runs already", deploy.step(contract.StepStart).Found)
	require.Equal(t, contract.RunRunning, h.observe("web").State)
	require.Equal(t, "kept the running domain", h.begin(w, 1, v1.VerbDeploy).step(contract.StepCreate).Found)

	next := h.begin(w, 1, v1.VerbRetry)
	next.since = deploy.ref.Fence - 1
	require.Equal(t, []string{"root"}, next.step(contract.StepCreate).Made, "and if the action that made it failed")
	next = h.begin(w, 1, v1.VerbStart)
	next.since = deploy.ref.Fence
	require.Empty(t, next.step(contract.StepCreate).Made)
}

func TestRestartStopsOnce(t *testing.T) {
	h := newHost(t, syntheticURI)
	w := blankGuest("web")
	h.begin(w, 1, v1.VerbDeploy).must(deploySteps...)
	first := h.observe("web").StartedAt
	restart := h.begin(w, 1, v1.VerbRestart)
	restart.step(contract.StepCreate)
	require.Equal(t, first, h.observe("web").StartedAt)
	restart.step(contract.StepStart)
	second := h.observe("web").StartedAt
	require.NotEqual(t, first, second)
	require.Equal(t, "it runs already", restart.step(contract.StepStart).Found, "its answer was lost")
	require.Equal(t, second, h.observe("web").StartedAt)
}

func TestWatchSeesWhatOthersDo(t *testing.T) {
	h := newHost(t, syntheticURI)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	changed, ended := make(chan string, 100), make(chan error, 1)
	go func() { ended <- h.rt.Watch(ctx, func(workload string) { changed <- workload }) }()
	require.Empty(t, receive(t, changed), "look at all")

	h.begin(blankGuest("web"), 1, v1.VerbDeploy).must(deploySteps...)
	require.Equal(t, "web", receive(t, changed))
	require.NoError(t, h.driver.Destroy(context.Background(), h.domain("web")))
	require.Eventually(t, func() bool {
		return receive(t, changed) == "web" && h.observe("web").State == contract.RunExited
	}, 2*time.Minute, time.Millisecond)
	exit := h.observe("web").Exit
	require.Equal(t, 137, exit.Code)
	require.Equal(t, v1.ReasonInterrupted, exit.Outcome)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

func receive[T any](t *testing.T, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(2 * time.Minute):
		require.Fail(t, "nothing came")
	}
	return value
}

func TestOthersDomainIsNotTouched(t *testing.T) {
	h := newHost(t, syntheticURI)
	name := h.domain("web")
	require.NoError(t, h.driver.Define(context.Background(), name,
		`<domain type="test"><name>`+name+`</name><memory>65536</memory><os><type>hvm</type></os></domain>`))
	t.Cleanup(func() { require.NoError(t, h.driver.Undefine(context.Background(), name, false)) })
	for _, s := range []contract.Step{contract.StepCreate, contract.StepStart, contract.StepStop, contract.StepRemove} {
		_, err := h.begin(blankGuest("web"), 1, v1.VerbDeploy).run(s, false)
		requireReason(t, v1.ReasonPolicyDenied, true, err)
	}
	rec, err := h.store.Get("web")
	require.NoError(t, err)
	o, err := h.rt.Observe(context.Background(), rec)
	require.NoError(t, err)
	require.Equal(t, contract.RunUnobservable, o.State, "nothing is concluded from another's domain")
	require.Len(t, o.Findings, 1)
	require.Equal(t, v1.ReasonPolicyDenied, o.Findings[0].Reason)
}

func TestPrepareRefuses(t *testing.T) {
	h := newHost(t, syntheticURI)
	evil := filepath.Join(h.dataDir, "evil.qcow2")
	out, err := exec.Command("qemu-img", "create", "-q", "-f", "qcow2", "-b", "/etc/hostname", "-F", "raw", "-u", evil, "1M").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for name, tc := range map[string]struct {
		change func(*v1.VMSpec)
		reason v1.Reason
	}{
		"a user's disk with a backing file": {func(s *v1.VMSpec) { s.Disks[0] = v1.Disk{Name: "d", Path: evil, Format: v1.FormatQCOW2} }, v1.ReasonImageInvalid},
		"an image with a backing file":      {func(s *v1.VMSpec) { s.Disks[0].Image = &v1.DiskImage{Path: evil} }, v1.ReasonImageInvalid},
		"a path that is not allowed":        {func(s *v1.VMSpec) { s.Disks[0] = v1.Disk{Name: "d", Path: "/etc/passwd", Format: v1.FormatRaw} }, v1.ReasonPolicyDenied},
		"an image that does not exist":      {func(s *v1.VMSpec) { s.Disks[0].Image = &v1.DiskImage{Path: filepath.Join(h.dataDir, "no")} }, v1.ReasonImageNotFound},
		"an unknown network":                {func(s *v1.VMSpec) { s.Networks = []v1.Network{{Network: "no-such"}} }, v1.ReasonNotFound},
		"an unknown bridge":                 {func(s *v1.VMSpec) { s.Networks = []v1.Network{{Bridge: "lo"}} }, v1.ReasonNotFound},
		"UEFI where there is none":          {func(s *v1.VMSpec) { s.Firmware = v1.FirmwareUEFI }, v1.ReasonRuntimeError},
		"an address of another network":     {func(s *v1.VMSpec) { s.Networks = []v1.Network{{Network: "default", IP: "10.9.9.9"}} }, v1.ReasonInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			w := blankGuest("web")
			tc.change(w.VM)
			_, err := h.begin(w, 1, v1.VerbDeploy).run(contract.StepPrepare, false)
			requireReason(t, tc.reason, true, err)
		})
	}
}

// requireReason checks what comes out of an activity.
func requireReason(t *testing.T, reason v1.Reason, permanent bool, err error) {
	t.Helper()
	require.Error(t, err)
	e := contract.FromActivityError(err)
	require.Equal(t, reason, e.Reason, "%v", err)
	require.Equal(t, permanent, e.Permanent, "%v", err)
}

func (h *host) domainXML(workload string) string {
	h.t.Helper()
	d, err := h.driver.Domain(context.Background(), h.domain(workload))
	require.NoError(h.t, err)
	return d.XML
}

func TestDiskAndItsMark(t *testing.T) {
	h := newHost(t, syntheticURI)
	deploy := h.begin(blankGuest("web"), 1, v1.VerbDeploy)
	deploy.step(contract.StepCreate)
	root := filepath.Join(h.dir("web"), "disk-root.qcow2")
	require.NoError(t, h.driver.Undefine(context.Background(), h.domain("web"), false))

	require.NoError(t, os.Remove(root)) // a crash after the mark, before the disk
	deploy.step(contract.StepCreate)
	require.FileExists(t, root)

	next := h.begin(blankGuest("web"), 2, v1.VerbDeploy)
	require.NoError(t, os.Remove(disk.MarkerPath(root))) // somebody's file, for all that is known
	_, err := next.run(contract.StepCreate, false)
	require.Error(t, err)
	_, err = h.begin(blankGuest("web"), 2, v1.VerbRemove).run(contract.StepRemove, true)
	require.NoError(t, err)
	require.FileExists(t, root)
}
