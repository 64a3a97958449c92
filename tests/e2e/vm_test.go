package e2e

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

func TestVMs(t *testing.T) {
	own := harness.OpenDir(t, "own")
	f := fleet(t, "--allow-path", own, "--stall-timeout", "3s", "--cpus", "64", "--memory", "64Gi")
	runAll(t, f, []subtest{
		{"from a URL to Running to gone", func(t *testing.T, f *harness.Fleet) { vmLife(t, f, own) }},
		{"what is undefined behind its back is made again with its disk", vmMadeAgain},
		{"killed, and undefined while it runs", vmKilled},
		{"a job that is undefined while it runs", vmUndefinedJob},
		{"deleted while it boots", func(t *testing.T, f *harness.Fleet) { vmDeletedInBoot(t, f, own) }},
		{"deleted while its image is fetched", vmDeletedInFetch},
		{"a boot that says nothing times out", vmBootTimeout},
		{"a wrong checksum", vmWrongChecksum},
		{"an image that is not there", vmImageNotFound},
		{"a server that stalls", vmStalls},
		{"a server that drops connections", vmDrops},
		{"an image with a backing file", vmBackingFile},
	})
}

// vm is a workload whose first disk is made from an image at a URL.
func vm(f *harness.Fleet, name, url, checksum string, lines ...string) *v1.Workload {
	text := "apiVersion: berth/v1\nkind: VM\nmetadata: {name: " + name + "}\nspec:\n  vcpus: 1\n  memory: 128Mi\n  disks:\n" +
		"  - {name: root, image: {url: '" + url + "', checksum: '" + checksum + "'}}\n"
	if checksum == "" {
		text = strings.Replace(text, ", checksum: ''", "", 1)
	}
	for _, l := range lines {
		text += "  " + l + "\n"
	}
	return f.Parse(text)
}

// prepareOf is the step of an action that fetches.
func prepareOf(t *testing.T, f *harness.Fleet, action string) v1.ActionStep {
	t.Helper()
	view, err := f.Client().Action(t.Context(), action)
	require.NoError(t, err)
	i := slices.IndexFunc(view.Steps, func(s v1.ActionStep) bool { return s.Step == "vm.Prepare" })
	require.GreaterOrEqual(t, i, 0, "%+v", view.Steps)
	return view.Steps[i]
}

const ready = "readiness: {when: console, line: GUEST-READY}"

func sha256Of(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	h := sha256.New()
	_, err = io.Copy(h, file)
	require.NoError(t, err)
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// domainOf returns the domain's name if the workload has one.
func domainsOf(t *testing.T, f *harness.Fleet, workload string) []string {
	t.Helper()
	return only(t, f, workload, harness.Domains(t, f.ID))
}

func running(t *testing.T, f *harness.Fleet, workload string) bool {
	t.Helper()
	return slices.Contains(harness.RunningDomains(t, f.ID), containerName(f, workload))
}

// console returns a workload's serial console as the API shows it, once the host answers: it has few seconds for that.
func console(t *testing.T, f *harness.Fleet, workload string) string {
	t.Helper()
	var text string
	harness.Eventually(t, func() bool {
		logs, err := f.Client().Logs(t.Context(), workload, 500)
		text = strings.Join(logs.Lines, "\n")
		return err == nil
	}, soon, poll)
	return text
}

// says reports whether a text stands on a workload's console. It is for waiting: a console that cannot be read yet is none.
func says(t *testing.T, f *harness.Fleet, workload, text string) bool {
	t.Helper()
	logs, err := f.Client().Logs(t.Context(), workload, 500)
	return err == nil && strings.Contains(strings.Join(logs.Lines, "\n"), text)
}

// leftovers are the files that a workload's directory on the host still holds, beside its record.
func leftovers(t *testing.T, f *harness.Fleet, workload string) []string {
	t.Helper()
	var left []string
	dir := filepath.Join(f.Agents[0].DataDir, "workloads", workload)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "record.json" {
			left = append(left, path)
		}
		return nil
	})
	require.NoError(t, err)
	return left
}

// blankDisk makes a disk that a user brings.
func blankDisk(t *testing.T, path string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "qemu-img", "create", "-q", "-f", "qcow2", path, "8M").CombinedOutput()
	require.NoErrorf(t, err, "%s", out)
}

// guests is held by tests that boot one: emulated guests slow each other down out of proportion.
var guests sync.Mutex

// oneGuest makes a test wait until no other boots a guest.
func oneGuest(t *testing.T) {
	t.Helper()
	guests.Lock()
	t.Cleanup(guests.Unlock)
}

// ownImage is a guest's image that no other test has brought into the host's cache.
func ownImage(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(harness.GuestImage(t))
	require.NoError(t, err)
	tail := make([]byte, 64<<10) // clusters that nothing refers to
	_, err = rand.Read(tail)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "own.qcow2")
	require.NoError(t, os.WriteFile(path, append(data, tail...), 0o600))
	return path
}

func vmLife(t *testing.T, f *harness.Fleet, own string) {
	oneGuest(t)
	image := ownImage(t)
	size := fileSize(t, image)
	mine := filepath.Join(own, "mine.qcow2")
	blankDisk(t, mine)
	srv := harness.ServeFile(t, image)
	srv.Set(harness.Trouble{BytesPerSecond: size / 300}) // for as long as it takes to look at it

	lines := []string{
		"- {name: mine, path: " + mine + ", format: qcow2}", ready,
		"stopGracePeriod: 5m", // a slow guest powers off late, and is asked again and again
		`cloudInit: {userData: "#cloud-config\npassword: hunter2\n"}`,
	}
	f.Apply(vm(f, "life", srv.URL, sha256Of(t, image), lines...))
	v := f.AwaitWorkload("life", soon, "the fetch shows its bytes", func(v v1.View) bool {
		return slices.ContainsFunc(v.Progress, func(p v1.Progress) bool {
			return p.Step == "vm.Prepare" && p.Done > 0 && p.Done < size && p.Total == size && strings.Contains(p.Detail, "fetching")
		})
	})
	deploy := v.Status.Action.ID
	open := prepareOf(t, f, deploy)
	require.Equal(t, v1.OutcomeRunning, open.Outcome)
	require.Positive(t, open.Bytes)
	require.Contains(t, open.Progress.Detail, "fetching")
	srv.Set(harness.Trouble{})
	v = f.AwaitPhase("life", long, v1.PhaseRunning)
	done := prepareOf(t, f, deploy)
	require.Equal(t, v1.OutcomeSucceeded, done.Outcome)
	require.Equal(t, size, done.Bytes, "an action tells how much was fetched")
	require.Nil(t, done.Progress)
	require.Equal(t, hostName, v.Status.Host)
	log := console(t, f, "life")
	require.Contains(t, log, "GUEST-READY")
	require.Contains(t, log, "boots: 1")
	require.Contains(t, log, "seed: cidata")
	require.Contains(t, log, `local-hostname: "life"`)
	require.NotContains(t, harness.Virsh(t, "dumpxml", containerName(f, "life"))+f.Agents[0].Log()+f.Servers[0].Log(), "hunter2")
	require.True(t, running(t, f, "life"))

	v = awaitSettled(f, f.Do("life", v1.VerbStop))
	require.Equal(t, v1.PhaseStopped, v.Status.Phase)
	require.False(t, running(t, f, "life"))
	require.Contains(t, console(t, f, "life"), "POWEROFF", "it was asked by ACPI")

	awaitSettled(f, f.Do("life", v1.VerbStart))
	require.Contains(t, console(t, f, "life"), "boots: 2", "its disk was kept")

	w := vm(f, "life", srv.URL, sha256Of(t, image), lines...)
	w.VM.Memory = 160 << 20
	v = awaitSettled(f, f.Apply(w))
	require.Equal(t, v1.PhaseRunning, v.Status.Phase)
	require.EqualValues(t, 2, v.Status.RunningGeneration)
	require.Contains(t, console(t, f, "life"), "boots: 3", "its disk was kept")
	require.Contains(t, harness.Virsh(t, "dominfo", containerName(f, "life")), "163840 KiB")
	require.Len(t, domainsOf(t, f, "life"), 1)

	a := f.Do("life", v1.VerbRemove)
	require.Equal(t, []v1.Kept{{Kind: v1.KeptPath, Host: hostName, Ref: mine}}, a.Kept, "what the user brought is said to stay")
	f.AwaitGone("life", soon)
	require.Empty(t, domainsOf(t, f, "life"))
	require.Empty(t, leftovers(t, f, "life"))
	require.FileExists(t, mine)
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Size()
}

func vmMadeAgain(t *testing.T, f *harness.Fleet) {
	oneGuest(t)
	image := harness.GuestImage(t)
	f.Apply(vm(f, "vm-again", harness.ServeFile(t, image).URL, "", ready))
	f.AwaitPhase("vm-again", long, v1.PhaseRunning)
	name := containerName(f, "vm-again")

	// Its end from outside is no user's wish.
	harness.Virsh(t, "destroy", name)
	harness.Eventually(t, func() bool { return running(t, f, "vm-again") }, soon, poll)
	harness.Eventually(t, func() bool { return says(t, f, "vm-again", "boots: 2") }, long, poll)

	harness.Virsh(t, "destroy", name)
	harness.Virsh(t, "undefine", name)
	harness.Eventually(t, func() bool {
		return running(t, f, "vm-again") && says(t, f, "vm-again", "boots: 3")
	}, long, poll)
	f.AwaitPhase("vm-again", long, v1.PhaseRunning)
	remove(t, f, "vm-again")
	require.Empty(t, domainsOf(t, f, "vm-again"))
}

// vmKilled ends QEMU behind libvirt's back, and takes the definition away from under a guest that runs.
func vmKilled(t *testing.T, f *harness.Fleet) {
	oneGuest(t)
	f.Apply(vm(f, "vm-killed", harness.ServeFile(t, harness.GuestImage(t)).URL, "", "stopGracePeriod: 1s"))
	f.AwaitPhase("vm-killed", long, v1.PhaseRunning)
	name := containerName(f, "vm-killed")
	before := domainID(t, f, "vm-killed")
	pid, err := os.ReadFile("/run/libvirt/qemu/" + name + ".pid")
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), "kill", "-KILL", strings.TrimSpace(string(pid))).CombinedOutput()
	require.NoErrorf(t, err, "%s", out)
	v := f.AwaitWorkload("vm-killed", long, "it was started again, and counted", func(v v1.View) bool {
		return v.Status.Phase == v1.PhaseRunning && v.Status.Restarts == 1
	})
	require.Contains(t, v.Status.Message, "crashed")
	after := domainID(t, f, "vm-killed")
	require.NotEqual(t, before, after)

	harness.Virsh(t, "undefine", name)
	awaitDefinedAgain(t, f, "vm-killed")
	require.Equal(t, after, domainID(t, f, "vm-killed"), "it runs on")
	harness.Virsh(t, "destroy", name)
	f.AwaitWorkload("vm-killed", long, "it is started again, as any other", func(v v1.View) bool {
		return v.Status.Phase == v1.PhaseRunning && strings.Contains(v.Status.Message, "destroyed")
	})
	require.True(t, running(t, f, "vm-killed"))
	remove(t, f, "vm-killed")
	require.Empty(t, domainsOf(t, f, "vm-killed"))
}

// awaitDefinedAgain waits until a workload says that its domain was undefined and that its host has put that right.
func awaitDefinedAgain(t *testing.T, f *harness.Fleet, workload string) {
	t.Helper()
	v := f.AwaitWorkload(workload, soon, "it says that its domain is defined again", func(v v1.View) bool {
		return slices.ContainsFunc(v.Status.Conditions, func(c v1.Condition) bool {
			return c.Reason == v1.ReasonUndefined && strings.Contains(c.Message, "has defined it again")
		})
	})
	require.Equal(t, v1.PhaseRunning, v.Status.Phase)
	require.Contains(t, harness.Virsh(t, "list", "--persistent", "--name"), containerName(f, workload))
}

// vmUndefinedJob takes the definition away from under a job, which ends as it ends.
func vmUndefinedJob(t *testing.T, f *harness.Fleet) {
	oneGuest(t)
	f.Apply(vm(f, "vm-job", harness.ServeFile(t, harness.GuestImage(t)).URL, "", "type: job", ready))
	f.AwaitPhase("vm-job", long, v1.PhaseRunning)
	before, began := domainID(t, f, "vm-job"), time.Now()
	harness.Virsh(t, "undefine", containerName(f, "vm-job"))
	awaitDefinedAgain(t, f, "vm-job")
	t.Logf("from the undefine to the status: at most %s", time.Since(began).Round(time.Millisecond))
	require.Equal(t, before, domainID(t, f, "vm-job"), "it runs on")
	var asked time.Time
	v := f.AwaitWorkload("vm-job", long, "it has succeeded", func(v v1.View) bool {
		if time.Since(asked) > 3*time.Second { // a guest that has just booted may miss the button; it may be off by now, too
			asked = time.Now()
			_ = exec.CommandContext(t.Context(), "virsh", "-q", "-c", "qemu:///system", "shutdown", containerName(f, "vm-job")).Run()
		}
		return v.Status.Phase == v1.PhaseSucceeded
	})
	require.Empty(t, v.Status.Conditions)
	require.Equal(t, 0, *v.Status.ExitCode)
	remove(t, f, "vm-job")
}

func vmDeletedInBoot(t *testing.T, f *harness.Fleet, own string) {
	oneGuest(t)
	mine := filepath.Join(own, "boot.qcow2")
	blankDisk(t, mine)
	f.Apply(vm(f, "booting", harness.ServeFile(t, harness.GuestImage(t)).URL, "",
		"- {name: mine, path: "+mine+", format: qcow2}", "readiness: {when: console, line: NEVER-SAID}", "stopGracePeriod: 2s"))
	f.AwaitWorkload("booting", long, "it boots", func(v v1.View) bool {
		return slices.ContainsFunc(v.Progress, func(p v1.Progress) bool { return p.Step == "vm.AwaitReady" })
	})
	require.True(t, running(t, f, "booting"))
	remove(t, f, "booting")
	require.Empty(t, domainsOf(t, f, "booting"))
	require.Empty(t, leftovers(t, f, "booting"))
	require.FileExists(t, mine)
}

func vmBootTimeout(t *testing.T, f *harness.Fleet) {
	oneGuest(t)
	f.Apply(vm(f, "mute", harness.ServeFile(t, harness.GuestImage(t)).URL, "",
		"readiness: {when: console, line: NEVER-SAID}", "bootTimeout: 5s", "stopGracePeriod: 2s"))
	v := f.AwaitWorkload("mute", long, "its boot timed out", func(v v1.View) bool { return v.Status.Reason == v1.ReasonBootTimeout })
	require.NotEmpty(t, v.Status.Message)
	remove(t, f, "mute")
	require.Empty(t, domainsOf(t, f, "mute"))
}
