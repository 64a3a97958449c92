package faults

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"

	"github.com/stretchr/testify/require"
)

// scenario is a workload with what may happen to it.
type scenario struct {
	name string
	// prepare, if set, makes what the spec speaks of, and spec writes the workload of a generation.
	prepare func(f *fleet, w *work)
	spec    func(f *fleet, w *work, generation int) string
	verbs   []string
	// only matches the failpoints that the scenario is for: the others are another's.
	only *regexp.Regexp
	// machine says that it is a virtual machine.
	machine bool
}

func (s scenario) look(f *fleet, w *work) (sight, error) {
	if s.machine {
		return lookAtDomain(f, w)
	}
	return lookAtContainer(f, w)
}

var all = regexp.MustCompile("")

var scenarios = []scenario{
	{
		name: "container", spec: containerSpec,
		verbs: []string{"deploy", "update", "restart", "stop", "start", "exit", "remove", "purge"}, only: all,
	},
	{name: "healthy", spec: healthySpec, verbs: []string{"deploy"}, only: regexp.MustCompile("AwaitReady")},
	{name: "job", spec: jobSpec, verbs: []string{"run"}, only: all},
	{
		name: "vm", prepare: makeImage, spec: vmSpec, machine: true,
		verbs: []string{"deploy", "update", "restart", "stop", "start", "resume", "exit", "remove"}, only: all,
	},
	{name: "vmjob", prepare: makeImage, spec: vmJobSpec, machine: true, verbs: []string{"deploy", "end"}, only: regexp.MustCompile("Acknowledge|boot")},
	{name: "guest", spec: guestSpec, machine: true, verbs: []string{"deploy"}, only: regexp.MustCompile("AwaitReady")},
}

func scenarioOf(name string) scenario {
	for _, s := range scenarios {
		if s.name == name {
			return s
		}
	}
	return scenario{}
}

// counting makes a container count its starts in its volume, from inside, and then do something.
const counting = `command: [/bin/sh, -c, "echo started >> /data/starts; %s"]
  volumes: [{name: data, target: /data}]
  resources: {cpus: 0.5, memory: 32Mi}
  stopGracePeriod: 5s`

func containerHead(f *fleet, w *work, do string) string {
	return fmt.Sprintf("apiVersion: berth/v1\nkind: Container\nmetadata: {name: %s}\nspec:\n  image: %s\n  "+counting+"\n",
		w.name, f.container, do)
}

func containerSpec(f *fleet, w *work, generation int) string {
	return containerHead(f, w, "exec /bin/serve") + fmt.Sprintf("  env: {GENERATION: '%d'}\n"+
		"  ports: [{container: 8080, host: 8080, hostIP: 127.77.%d.%d}]\n", generation, w.number/200, 1+w.number%200)
}

func healthySpec(f *fleet, w *work, _ int) string {
	return containerHead(f, w, "exec /bin/serve") + "  healthCheck: {command: [/bin/true], interval: 1s}\n"
}

func jobSpec(f *fleet, w *work, _ int) string {
	return containerHead(f, w, "exit 0") + "  type: job\n  job: {maxAttempts: 3}\n"
}

// vmSpec is a machine whose disk boots nothing: what is tested is what Berth makes of it. It does not hear a shutdown, so
// that every stop also ends it by force. An update grows a disk, drops the seed and takes another address.
func vmSpec(f *fleet, w *work, generation int) string {
	size, address, more := "2Mi", 2*w.number, "  cloudInit: {userData: \"#cloud-config\\n\"}\n"
	if generation > 1 {
		size, address, more = "3Mi", 2*w.number+1, ""
	}
	return fmt.Sprintf(`apiVersion: berth/v1
kind: VM
metadata: {name: %s}
spec:
  vcpus: 1
  memory: 32Mi
  stopGracePeriod: 1s
  disks:
  - {name: root, image: {url: "%s", checksum: "%s"}}
  - {name: data, size: %s}
  networks: [{network: %s, ip: %s}]
`, w.name, w.image.url, w.image.checksum, size, f.network.name, f.network.address(address)) + more
}

func vmJobSpec(f *fleet, w *work, _ int) string { return vmSpec(f, w, 2) + "  type: job\n" }

func guestSpec(f *fleet, w *work, _ int) string {
	return fmt.Sprintf(`apiVersion: berth/v1
kind: VM
metadata: {name: %s}
spec:
  vcpus: 1
  memory: 128Mi
  stopGracePeriod: 10s
  disks: [{name: root, image: {url: "%s", checksum: "%s"}}]
  readiness: {when: console, line: GUEST-READY}
`, w.name, f.guest.url, f.guest.checksum)
}

// makeImage makes an image that no other workload has, so that each fetches its own. Its name is the workload's, which is
// also the scope of the fetch's failpoints.
func makeImage(f *fleet, w *work) {
	f.t.Helper()
	data := make([]byte, 1<<20)
	_, err := rand.Read(data[:64<<10])
	require.NoError(f.t, err)
	raw, image := filepath.Join(f.t.TempDir(), "raw"), filepath.Join(f.images, w.name)
	require.NoError(f.t, os.WriteFile(raw, data, 0o600))
	out, err := exec.CommandContext(f.t.Context(), "qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, image).CombinedOutput()
	require.NoErrorf(f.t, err, "%s", out)
	w.image = f.serve(w.name, image)
}
