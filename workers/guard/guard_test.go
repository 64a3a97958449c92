package guard_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/deadline"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
	"github.com/berth-dev/berth/workers/guard"
	"github.com/berth-dev/berth/workflows/contract"
)

// soon is more than margin, grace and the runtimes take, on a loaded machine too.
const soon = 5 * time.Minute

// guarded is a host with a guard. Its agent is a process that does nothing, and its workloads are made without Berth.
type guarded struct {
	t     *testing.T
	fleet string
	dir   deadline.Dir
	agent *exec.Cmd
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	harness.Require(t)
	runDir := harness.MemoryDir(t) // as in production: a disk may stall for longer than the leases of these tests
	g := &guarded{t: t, fleet: "t" + strings.ToLower(rand.Text()[:8])}
	g.dir = deadline.DirOf(runDir, g.fleet, "h1")
	t.Cleanup(func() { harness.ClearHost(t, g.fleet) })
	one, err := guard.New(guard.Config{RunDir: runDir, Fleet: g.fleet, Host: "h1"}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { one.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait(); require.NoError(t, one.Close()) })
	harness.Eventually(t, g.dir.Guarded, soon, time.Millisecond)

	g.agent = exec.CommandContext(t.Context(), "sleep", "1000")
	require.NoError(t, g.agent.Start())
	t.Cleanup(func() { _ = g.agent.Process.Kill(); _ = g.agent.Wait() })
	return g
}

func (g *guarded) run(name string, args ...string) string {
	g.t.Helper()
	out, err := exec.CommandContext(g.t.Context(), name, args...).CombinedOutput()
	require.NoErrorf(g.t, err, "%s %s: %s", name, strings.Join(args, " "), out)
	return strings.TrimSpace(string(out))
}

// container runs a container that stands for a workload.
func (g *guarded) container(workload, script string) (name string) {
	g.t.Helper()
	name = "berth." + g.fleet + ".h1." + workload
	g.run("docker", "run", "--detach", "--name", name, "--label", "berth.fleet="+g.fleet, "--label", "berth.host=h1",
		"--label", "berth.workload="+workload, harness.ContainerImage(g.t), "/bin/sh", "-c", script)
	return name
}

func (g *guarded) running(container string) bool {
	g.t.Helper()
	return g.run("docker", "inspect", "-f", "{{.State.Running}}", container) == "true"
}

// write writes what the agent would, with a deadline from now.
func (g *guarded) write(in time.Duration, change func(*deadline.File), runtimes ...deadline.Runtime) {
	g.t.Helper()
	agent, err := deadline.ProcessOf(g.agent.Process.Pid)
	if err != nil {
		require.ErrorIs(g.t, err, deadline.ErrGone)
	}
	f := deadline.File{
		BootID: deadline.BootID(), Fleet: g.fleet, Host: "h1", Agent: agent, Held: true, Deadline: deadline.Now() + in, Runtimes: runtimes,
	}
	if change != nil {
		change(&f)
	}
	require.NoError(g.t, g.dir.Write(f))
}

func (g *guarded) agentRuns() bool {
	_, err := deadline.ProcessOf(g.agent.Process.Pid)
	return err == nil
}

const (
	obeys = "trap 'exit 0' TERM; sleep 1000 & wait"
	deaf  = "trap '' TERM; while :; do sleep 1; done"
)

func runtimeOf(workload string, grace time.Duration, pids ...int) deadline.Runtime {
	r := deadline.Runtime{Workload: workload, Kind: v1.KindContainer, Grace: grace}
	for _, pid := range pids {
		if p, err := deadline.ProcessOf(pid); err == nil {
			r.Processes = append(r.Processes, p)
		}
	}
	return r
}

func TestAFrozenAgentIsKilledAndItsStrictContainersAreStopped(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	polite, rude, other := g.container("polite", obeys), g.container("rude", deaf), g.container("other", obeys)
	require.NoError(t, g.agent.Process.Signal(syscall.SIGSTOP))
	g.write(time.Second, nil, runtimeOf("polite", 20*time.Second), runtimeOf("rude", time.Second))
	begin := time.Now()
	harness.Eventually(t, func() bool { return !g.running(polite) && !g.running(rude) }, soon, 50*time.Millisecond)
	require.Greater(t, time.Since(begin), time.Second+contract.StrictMargin, "not before its time")
	require.False(t, g.agentRuns())
	require.True(t, g.running(other), "what is not strict runs on")
	require.Equal(t, "0", g.run("docker", "inspect", "-f", "{{.State.ExitCode}}", polite), "it was asked first")
	require.Equal(t, "137", g.run("docker", "inspect", "-f", "{{.State.ExitCode}}", rude))
	require.True(t, g.dir.WasStopped("polite"))
	require.False(t, g.dir.WasStopped("other"))

	// A start that was under way in the engine comes through late.
	g.run("docker", "start", polite)
	harness.Eventually(t, func() bool { return !g.running(polite) }, soon, 50*time.Millisecond)
	// A renewed lease ends it, once a stop that was under way is over.
	g.write(time.Hour, nil, runtimeOf("polite", time.Second))
	var started time.Time
	harness.Eventually(t, func() bool {
		if !g.running(polite) {
			g.run("docker", "start", polite)
			started = time.Now()
			return false
		}
		return time.Since(started) > 4*time.Second
	}, soon, 100*time.Millisecond, "the guard goes on stopping it")
}

func TestALiveLeaseIsLeftAlone(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	c := g.container("web", obeys)
	// The agent beats: a short lease is renewed before it ends.
	end := time.Now().Add(contract.StrictMargin + 4*time.Second)
	harness.Eventually(t, func() bool {
		g.write(2*time.Second, nil, runtimeOf("web", time.Second))
		return time.Now().After(end)
	}, soon, 100*time.Millisecond)
	require.True(t, g.running(c))
	require.True(t, g.agentRuns())
}

func TestAnAgentThatStopsThemItselfIsLeftToIt(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	c := g.container("web", obeys)
	stopping := func(f *deadline.File) { f.Stopping = true }
	const grace = 4 * time.Second
	begin := time.Now()
	g.write(0, stopping, runtimeOf("web", grace))
	harness.Eventually(t, func() bool { return !g.agentRuns() }, soon, 50*time.Millisecond, "but not for ever")
	killed := time.Since(begin)
	harness.Eventually(t, func() bool { return !g.running(c) }, soon, 50*time.Millisecond, "but not for ever")
	ended, err := time.Parse(time.RFC3339Nano, g.run("docker", "inspect", "-f", "{{.State.FinishedAt}}", c))
	require.NoError(t, err)
	require.GreaterOrEqual(t, killed, contract.StrictMargin+grace, "the agent had its time")
	require.GreaterOrEqual(t, ended.Sub(begin), contract.StrictMargin+grace, "and so had the container")
}

func TestWithoutTheEngineAContainerIsKilledByItsProcess(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	c := g.container("web", deaf)
	pid, err := strconv.Atoi(g.run("docker", "inspect", "-f", "{{.State.Pid}}", c))
	require.NoError(t, err)
	away := func(f *deadline.File) { f.DockerHost = "unix://" + t.TempDir() + "/none.sock" }
	g.write(0, away, runtimeOf("web", 0, pid))
	harness.Eventually(t, func() bool { return !g.running(c) }, soon, 50*time.Millisecond)
	require.False(t, g.agentRuns())
}

func TestALostFileStillHolds(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	c := g.container("web", obeys)
	g.write(3*time.Second, nil, runtimeOf("web", time.Second))
	seen := time.Now().Add(2500 * time.Millisecond) // the guard looks four times a second
	harness.Eventually(t, func() bool { return time.Now().After(seen) }, soon, 50*time.Millisecond)
	require.NoError(t, os.Remove(string(g.dir)+"/deadline.json"))
	harness.Eventually(t, func() bool { return !g.running(c) && !g.agentRuns() }, soon, 50*time.Millisecond)
}

func TestAStrictDomainIsEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		uri string // of a libvirt that the guard is told of; empty for the real one
	}{"by libvirt": {}, "by its process, without libvirt": {"qemu:///system?socket=/nonexistent"}} {
		t.Run(name, func(t *testing.T) {
			g := newGuarded(t)
			domain := g.domain("guest")
			pid, err := os.ReadFile("/run/libvirt/qemu/" + domain + ".pid")
			require.NoError(t, err)
			qemu, err := strconv.Atoi(strings.TrimSpace(string(pid)))
			require.NoError(t, err)
			r := runtimeOf("guest", time.Second, qemu)
			r.Kind = v1.KindVM
			require.NoError(t, g.agent.Process.Signal(syscall.SIGSTOP))
			g.write(0, func(f *deadline.File) { f.LibvirtURI = c.uri }, r)
			harness.Eventually(t, func() bool { return len(harness.RunningDomains(t, g.fleet)) == 0 }, soon, 100*time.Millisecond)
			require.False(t, r.Processes[0].Runs())
			require.False(t, g.agentRuns())
			require.True(t, g.dir.WasStopped("guest"))
		})
	}
}

// domain boots a machine without a disk, which stands for a workload and never gets beyond its firmware.
func (g *guarded) domain(workload string) (name string) {
	g.t.Helper()
	name = "berth." + g.fleet + ".h1." + workload
	xml := fmt.Sprintf(`<domain type='qemu'><name>%s</name><memory unit='MiB'>32</memory><vcpu>1</vcpu>
<metadata><berth:workload xmlns:berth='https://berth.dev/xmlns/domain/1' fleet='%s' host='h1' name='%s' generation='1' fence='1' spec=''/></metadata>
<os><type machine='q35'>hvm</type></os><features><acpi/></features></domain>`, name, g.fleet, workload)
	path := g.t.TempDir() + "/domain.xml"
	require.NoError(g.t, os.WriteFile(path, []byte(xml), 0o600))
	harness.Virsh(g.t, "define", path)
	harness.Virsh(g.t, "start", name)
	return name
}
