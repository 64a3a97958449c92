package e2e

import (
	"bufio"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
	"github.com/berth-dev/berth/workflows/contract"
)

// strictPace is the least grace that leaves a strict workload a second to stop in.
var strictPace = append([]string{"--grace", "15s"}, pace...)

// unhurriedPace is for strict workloads whose hosts are not lost: no slowness makes them so.
var unhurriedPace = slices.Concat(strictPace, []string{"--lease", "1m", "--grace", "1m"})

// strictly is a strict service that ends when it is asked to.
func strictly(t *testing.T, f *harness.Fleet, name string, lines ...string) *v1.Workload {
	t.Helper()
	return container(t, f, name, append([]string{"strict: true", "stopGracePeriod: 1s", moveSoon, shell(idle)}, lines...)...)
}

// guardedHosts starts a server, and two hosts with an agent and a guard each.
func guardedHosts(t *testing.T, options ...harness.Option) (*harness.Fleet, map[string]*harness.Agent, map[string]*harness.Process) {
	t.Helper()
	return guardedHostsAt(t, strictPace, options...)
}

func guardedHostsAt(
	t *testing.T, pace []string, options ...harness.Option,
) (*harness.Fleet, map[string]*harness.Agent, map[string]*harness.Process) {
	t.Helper()
	f := harness.NewFleet(t, options...)
	f.StartServer(pace...)
	agents, guards := map[string]*harness.Agent{}, map[string]*harness.Process{}
	for _, host := range []string{"h1", "h2"} {
		guards[host] = f.StartGuard(host)
		agents[host] = f.StartAgent(host, pace...)
	}
	for host := range agents {
		require.True(t, f.AwaitHost(host, soon, v1.HostOnline).Guard, "the guard was there first")
	}
	return f, agents, guards
}

// watcher follows how many containers of a workload run on this machine, which is all hosts of the fleet.
type watcher struct {
	mu      sync.Mutex
	running map[string]bool
	most    int
	starts  int
}

// watchCopies counts from now on, by the engine's own order of events.
func watchCopies(t *testing.T, f *harness.Fleet, workload string) *watcher {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "docker", "events", "--filter", "label=berth.fleet="+f.ID,
		"--filter", "label=berth.workload="+workload, "--filter", "event=start", "--filter", "event=die",
		"--since", strconv.FormatInt(time.Now().Unix(), 10), "--format", "{{.Action}} {{.ID}}")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	w := &watcher{running: map[string]bool{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			w.take(lines.Text())
		}
	}()
	t.Cleanup(func() { <-ended; _ = cmd.Wait() }) // the test's context has ended it
	return w
}

func (w *watcher) take(event string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	action, id, _ := strings.Cut(event, " ")
	if action == "die" {
		delete(w.running, id)
		return
	}
	w.starts++
	w.running[id] = true
	w.most = max(w.most, len(w.running))
}

// saw returns how often one was started, and how many ran at most at a time.
func (w *watcher) saw() (starts, most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.starts, w.most
}

// deployed applies a strict workload under the eyes of a watcher, and returns its host and the other one.
func deployed(t *testing.T, f *harness.Fleet, name string, lines ...string) (w *watcher, first, second string) {
	t.Helper()
	w = watchCopies(t, f, name)
	f.Apply(strictly(t, f, name, lines...))
	first = f.AwaitWorkload(name, soon, "runs", func(v v1.View) bool { return v.Status.Phase == v1.PhaseRunning }).Status.Host
	harness.Eventually(t, func() bool { starts, _ := w.saw(); return starts == 1 }, soon, poll, "the watcher sees it")
	return w, first, map[string]string{"h1": "h2", "h2": "h1"}[first]
}

// moved waits until a workload runs on its second host, and sees that it never ran twice.
func moved(t *testing.T, f *harness.Fleet, w *watcher, name, second string) {
	t.Helper()
	f.AwaitWorkload(name, long, "moved", runsOn(second))
	harness.Eventually(t, func() bool { starts, _ := w.saw(); return starts == 2 }, soon, poll)
	_, most := w.saw()
	require.Equal(t, 1, most, "never two copies")
}

func TestAStrictWorkloadOfAFrozenAgentMovesWithoutASecondCopy(t *testing.T) {
	t.Parallel()
	f, agents, _ := guardedHosts(t)
	w, first, second := deployed(t, f, "one")
	old := "berth." + f.ID + "." + first + ".one"

	agents[first].Pause()
	moved(t, f, w, "one", second)
	require.False(t, agents[first].Running(), "the guard killed the agent")
	require.Equal(t, "false", strings.TrimSpace(docker(t, "inspect", "-f", "{{.State.Running}}", old)))
	moved := idOf(t, "berth."+f.ID+"."+second+".one")

	agents[first].Start()
	f.AwaitHost(first, soon, v1.HostOnline)
	harness.Eventually(t, func() bool {
		h, err := f.Client().Host(t.Context(), first)
		return err == nil && len(h.Debts) == 0 && len(on(t, f, first, "one")) == 0
	}, soon, poll, "its debt is paid")
	require.Equal(t, moved, idOf(t, "berth."+f.ID+"."+second+".one"))
	starts, most := w.saw()
	require.Equal(t, 2, starts, "the old host started nothing")
	require.Equal(t, 1, most)
	remove(t, f, "one")
}

func TestAStrictWorkloadOfADeadAgentMovesWithoutASecondCopy(t *testing.T) {
	t.Parallel()
	f, agents, _ := guardedHosts(t)
	w, first, second := deployed(t, f, "one")
	agents[first].Kill()
	moved(t, f, w, "one", second)
	remove(t, f, "one")
}

func TestAnAgentOrAGuardThatIsBackWithinTheLeaseChangesNothing(t *testing.T) {
	t.Parallel()
	const lease = 15 * time.Second // of which a slow machine may take much for a start
	f, agents, guards := guardedHostsAt(t, slices.Concat(strictPace, []string{"--lease", lease.String(), "--grace", "1m"}))
	w, first, _ := deployed(t, f, "one")
	for name, p := range map[string]*harness.Process{"agent": agents[first].Process, "guard": guards[first]} {
		before := f.AwaitHost(first, soon, v1.HostOnline).LeaseNo
		p.Restart()
		harness.Eventually(t, func() bool {
			h, err := f.Client().Host(t.Context(), first)
			return err == nil && h.State == v1.HostOnline && h.Guard && (name == "guard" || h.LeaseNo > before)
		}, soon, poll, name)
	}
	// More than a lease, and all that follows it.
	past := time.Now().Add(lease + contract.StrictMargin + 3*time.Second)
	harness.Eventually(t, func() bool { return time.Now().After(past) }, soon, poll)
	require.Equal(t, v1.PhaseRunning, f.Workload("one").Status.Phase)
	starts, _ := w.saw()
	require.Equal(t, 1, starts, "the same container, still running")
	remove(t, f, "one")
}

func TestAnAgentThatIsCutOffStopsStrictWorkloadsItself(t *testing.T) {
	t.Parallel()
	f, agents, _ := guardedHostsAt(t, slices.Concat(strictPace, []string{"--grace", "1m"})) // it is back before anything moves, however slowly
	w, first, _ := deployed(t, f, "one")
	f.Apply(container(t, f, "other", shell(idle), "placement: {hosts: ["+first+"]}"))
	f.AwaitWorkload("other", soon, "runs", runsOn(first))
	one := "berth." + f.ID + "." + first + ".one"
	kept, other := idOf(t, one), idOf(t, "berth."+f.ID+"."+first+".other")

	f.Temporal.Pause()
	harness.Eventually(t, func() bool {
		return strings.TrimSpace(docker(t, "inspect", "-f", "{{.State.Running}}", one)) == "false"
	}, soon, poll)
	require.True(t, agents[first].Running(), "there was nothing for the guard to do")
	f.Temporal.Resume()

	f.AwaitWorkload("one", soon, "runs again", runsOn(first))
	harness.Eventually(t, func() bool { starts, _ := w.saw(); return starts == 2 }, soon, poll, "it is started again")
	require.Equal(t, kept, idOf(t, one), "the same container")
	require.Equal(t, other, idOf(t, "berth."+f.ID+"."+first+".other"))
	require.Contains(t, harness.RunningContainers(t, f.ID), "berth."+f.ID+"."+first+".other")
	require.Zero(t, f.Workload("one").Status.Restarts, "that is not counted")
	remove(t, f, "one")
	remove(t, f, "other")
}

func TestStrictIsRefusedWhereItCannotHold(t *testing.T) {
	t.Parallel()
	f := harness.NewFleet(t)
	f.StartServer(strictPace...)
	f.StartAgent(hostName, strictPace...)
	require.False(t, f.AwaitHost(hostName, soon, v1.HostOnline).Guard)
	t.Run("with too long a stop", func(t *testing.T) {
		f := f.In(t)
		for _, query := range []string{"", "?dryRun=true"} {
			status, body := f.Call(http.MethodPut, "/v1/workloads/slow"+query, container(t, f, "slow", "strict: true", "stopGracePeriod: 30s"))
			require.Equal(t, http.StatusUnprocessableEntity, status, string(body))
			require.Contains(t, string(body), "spec.stopGracePeriod")
			require.Contains(t, string(body), "at most 1s, or raise the fleet's --grace")
		}
	})
	t.Run("on a host without a guard, until one comes", func(t *testing.T) {
		f := f.In(t)
		f.Apply(strictly(t, f, "one"))
		f.AwaitWorkload("one", soon, "waits", func(v v1.View) bool {
			return v.Status.Reason == v1.ReasonNoMatchingHost && strings.Contains(v.Status.Message, "no guard")
		})
		f.StartGuard(hostName)
		f.AwaitWorkload("one", soon, "runs", runsOn(hostName))
		remove(t, f, "one")
	})
}

func TestADrainStopsAStrictWorkloadBeforeItStartsElsewhere(t *testing.T) {
	t.Parallel()
	f, _, _ := guardedHostsAt(t, unhurriedPace)
	w, first, second := deployed(t, f, "one")
	code, body := f.Call(http.MethodPost, "/v1/hosts/"+first+"/drain", map[string]any{})
	require.Less(t, code, 300, string(body))
	moved(t, f, w, "one", second)
	require.Empty(t, on(t, f, first, "one"))
	remove(t, f, "one")
}
