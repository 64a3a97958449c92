package harness

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var requireOnce struct {
	sync.Mutex
	done bool
}

// Require brings up Docker and libvirt on this machine if they do not answer, and fails the test if that fails: a test
// that skips itself where its runtimes are missing tests nothing.
func Require(t testing.TB) {
	t.Helper()
	requireOnce.Lock()
	defer requireOnce.Unlock()
	if requireOnce.done {
		return
	}
	host := filepath.Join(Root(t), "deploy", "host")
	script(t, 30*time.Minute, filepath.Join(host, "install.sh"))
	script(t, 10*time.Minute, filepath.Join(host, "start.sh"))
	requireOnce.done = true
}

// Containers returns the names of a fleet's containers, running or not.
func Containers(t testing.TB, fleet string) []string {
	t.Helper()
	return lines(output(t, "docker", "ps", "--all", "--filter", "label=berth.fleet="+fleet, "--format", "{{.Names}}"))
}

// RunningContainers returns the names of a fleet's running containers.
func RunningContainers(t testing.TB, fleet string) []string {
	t.Helper()
	return lines(output(t, "docker", "ps", "--filter", "label=berth.fleet="+fleet, "--format", "{{.Names}}"))
}

// Volumes returns the names of a fleet's volumes.
func Volumes(t testing.TB, fleet string) []string {
	t.Helper()
	return lines(output(t, "docker", "volume", "ls", "--filter", "label=berth.fleet="+fleet, "--format", "{{.Name}}"))
}

// Domains returns the names of a fleet's domains, running or not.
func Domains(t testing.TB, fleet string) []string {
	t.Helper()
	return ofFleet(Virsh(t, "list", "--all", "--name"), fleet)
}

// RunningDomains returns the names of a fleet's running domains.
func RunningDomains(t testing.TB, fleet string) []string {
	t.Helper()
	return ofFleet(Virsh(t, "list", "--name"), fleet)
}

// Virsh runs virsh against this machine's libvirt, and returns what it printed.
func Virsh(t testing.TB, args ...string) string {
	t.Helper()
	return output(t, "virsh", append([]string{"-q", "-c", "qemu:///system"}, args...)...)
}

// ClearHost removes all containers, volumes and domains with a fleet's mark.
func ClearHost(t testing.TB, fleet string) {
	t.Helper()
	for _, d := range Domains(t, fleet) {
		// A domain that does not run cannot be destroyed; that is no failure.
		if out, err := try("virsh", "-q", "-c", "qemu:///system", "destroy", d); err != nil && !strings.Contains(out, "not running") {
			t.Errorf("destroy domain %s: %s", d, out)
		}
		if out, err := try("virsh", "-q", "-c", "qemu:///system", "undefine", "--nvram", "--snapshots-metadata", d); err != nil {
			t.Errorf("undefine domain %s: %s", d, out)
		}
	}
	if names := Containers(t, fleet); len(names) > 0 {
		if out, err := try("docker", append([]string{"rm", "--force", "--volumes"}, names...)...); err != nil {
			t.Errorf("remove containers: %s", out)
		}
	}
	if names := Volumes(t, fleet); len(names) > 0 {
		if out, err := try("docker", append([]string{"volume", "rm", "--force"}, names...)...); err != nil {
			t.Errorf("remove volumes: %s", out)
		}
	}
}

// ofFleet keeps the domains that are named as a fleet's.
func ofFleet(list, fleet string) []string {
	var out []string
	for _, name := range lines(list) {
		if strings.HasPrefix(name, "berth."+fleet+".") {
			out = append(out, name)
		}
	}
	return out
}

// withLock runs f while no other test process of this machine is in one with the same path.
func withLock(t testing.TB, path string, f func()) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	lock, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	require.NoError(t, err)
	defer lock.Close() // and so unlocks
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	f()
}

// script runs a long program, and fails the test with its output if it fails.
func script(t testing.TB, within time.Duration, path string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	// A daemon that the script starts must not keep us waiting for its output's end.
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	require.NoErrorf(t, err, "%s:\n%s", path, out)
}

// output runs a short program, and returns what it printed.
func output(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := try(name, args...)
	require.NoErrorf(t, err, "%s %s:\n%s", name, strings.Join(args, " "), out)
	return out
}

// try works after the test's context has ended too: it is used for cleaning up.
func try(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), briefly)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	return string(out), err
}

func lines(s string) []string { return strings.Fields(s) }
