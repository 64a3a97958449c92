package e2e

import (
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// twoHosts starts a server and two agents that share this machine's Docker, each with room for one workload of 200Mi.
func twoHosts(t *testing.T) (*harness.Fleet, map[string]*harness.Agent) {
	t.Helper()
	f := harness.NewFleet(t)
	f.StartServer(lossPace...)
	agents := map[string]*harness.Agent{}
	for host, label := range map[string]string{"h1": "rack=a", "h2": "rack=b"} {
		agents[host] = f.StartAgent(host, append([]string{"--memory", "300Mi", "--label", label}, lossPace...)...)
	}
	for host := range agents {
		f.AwaitHost(host, soon, v1.HostOnline)
	}
	return f, agents
}

// on returns the names of a workload's containers on a host.
func on(t *testing.T, f *harness.Fleet, host, workload string) []string {
	t.Helper()
	var out []string
	for _, n := range harness.Containers(t, f.ID) {
		if n == "berth."+f.ID+"."+host+"."+workload {
			out = append(out, n)
		}
	}
	return out
}

// idOf is a container's id.
func idOf(t *testing.T, container string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "docker", "inspect", "-f", "{{.Id}}", container).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

func runsOn(host string) func(v1.View) bool {
	return func(v v1.View) bool { return v.Status.Phase == v1.PhaseRunning && v.Status.Host == host }
}

const (
	big      = "resources: {memory: 200Mi}"
	moveSoon = "moveAfter: 1s"
)

func TestPlacement(t *testing.T) {
	t.Parallel()
	f, _ := twoHosts(t)
	t.Run("hosts say how they are", func(t *testing.T) {
		f := f.In(t)
		var list v1.HostList
		harness.Eventually(t, func() bool { // lists are a moment behind
			var err error
			list, err = f.Client().Hosts(t.Context(), 10, "")
			require.NoError(t, err)
			return len(list.Items) == 2
		}, soon, poll)
		for _, h := range list.Items {
			require.NotNil(t, h.LastBeat)
			require.WithinDuration(t, time.Now(), *h.LastBeat, soon)
		}
		harness.Eventually(t, func() bool {
			h, err := f.Client().Host(t.Context(), "h1")
			return err == nil && h.LongestGap > 0
		}, soon, poll)
		changed, err := f.Client().SwitchRuntime(t.Context(), "h2", "libvirt", false)
		require.NoError(t, err)
		require.NotNil(t, changed.LastBeat, "a change is answered with all that the host shows")
		harness.Eventually(t, func() bool {
			_, out := f.CLI("hosts")
			return strings.Contains(out, "libvirt: switched off by an admin")
		}, soon, poll)
		online := regexp.MustCompile(`h1 +Online +\d+s ago +0 .* 300\.0 MiB of 300\.0 MiB .* docker [0-9.]+.*rack=a`)
		harness.Eventually(t, func() bool {
			_, out := f.CLI("hosts")
			return online.MatchString(out)
		}, soon, poll)
		_, out := f.CLI("host", "h2")
		require.Regexp(t, `RUNTIME +libvirt \(down\): switched off by an admin`, out)
		_, err = f.Client().SwitchRuntime(t.Context(), "h2", "libvirt", true)
		require.NoError(t, err)
	})
	t.Run("labels choose the host", func(t *testing.T) {
		f := f.In(t)
		f.Apply(container(t, f, "b", big, "placement: {labels: [rack=b]}"))
		f.AwaitWorkload("b", soon, "runs on h2", runsOn("h2"))
		f.Apply(container(t, f, "nowhere", "placement: {labels: [rack=c]}"))
		v := f.AwaitWorkload("nowhere", soon, "is refused", func(v v1.View) bool { return v.Status.Reason == v1.ReasonNoMatchingHost })
		require.Contains(t, v.Status.Message, "rack=c")
		remove(t, f, "nowhere")
	})
	t.Run("who waits is woken by priority when room appears", func(t *testing.T) {
		f := f.In(t)
		f.Apply(container(t, f, "a", big))
		f.AwaitWorkload("a", soon, "runs on h1", runsOn("h1"))
		for name, priority := range map[string]string{"low": "1", "high": "5"} {
			f.Apply(container(t, f, name, big, "priority: "+priority))
			f.AwaitWorkload(name, soon, "waits", func(v v1.View) bool {
				return v.Status.Phase == v1.PhasePending && v.Status.Reason == v1.ReasonNoCapacity && v.Status.NextTry != nil
			})
		}
		remove(t, f, "b")
		f.AwaitWorkload("high", soon, "runs on h2", runsOn("h2"))
		require.Zero(t, f.Workload("low").Status.RunningGeneration, "it may be asking, but there is no room")
		remove(t, f, "high")
		f.AwaitWorkload("low", soon, "runs", runsOn("h2"))
		remove(t, f, "a")
		remove(t, f, "low")
	})
	t.Run("apart keeps copies on hosts of their own", func(t *testing.T) {
		f := f.In(t)
		copyOf := func(name string) *v1.Workload {
			w := container(t, f, name, "placement: {apart: app}")
			w.Metadata.Labels = map[string]string{"app": "db"}
			return w
		}
		for _, name := range []string{"one", "two", "three"} {
			f.Apply(copyOf(name))
		}
		running := map[string]string{}
		waiting := ""
		for _, name := range []string{"one", "two", "three"} {
			v := f.AwaitWorkload(name, soon, "is settled", func(v v1.View) bool {
				return v.Status.Phase == v1.PhaseRunning || v.Status.Reason == v1.ReasonNoMatchingHost
			})
			if v.Status.Phase == v1.PhaseRunning {
				running[v.Status.Host] = name
				continue
			}
			waiting = name
		}
		require.Len(t, running, 2, "two hosts, two copies")
		remove(t, f, running["h1"])
		f.AwaitWorkload(waiting, soon, "took the free host", runsOn("h1"))
		for _, name := range []string{waiting, running["h2"]} {
			remove(t, f, name)
		}
	})
	t.Run("a cordoned host takes no new work", func(t *testing.T) {
		f := f.In(t)
		code, _ := f.Call(http.MethodPost, "/v1/hosts/h1/cordon", nil)
		require.Equal(t, http.StatusOK, code)
		f.Apply(container(t, f, "pinned", "placement: {hosts: [h1]}"))
		f.AwaitWorkload("pinned", soon, "waits", func(v v1.View) bool { return strings.Contains(v.Status.Message, "cordoned") })
		code, _ = f.Call(http.MethodPost, "/v1/hosts/h1/uncordon", nil)
		require.Equal(t, http.StatusOK, code)
		f.AwaitWorkload("pinned", soon, "runs at once", runsOn("h1"))
		remove(t, f, "pinned")
	})
}

func TestALostHost(t *testing.T) {
	t.Parallel()
	f, agents := twoHosts(t)
	f.Apply(container(t, f, "moves", moveSoon))
	first := f.AwaitWorkload("moves", soon, "runs", func(v v1.View) bool { return v.Status.Phase == v1.PhaseRunning }).Status.Host
	second := map[string]string{"h1": "h2", "h2": "h1"}[first]
	f.Apply(container(t, f, "stays", "volumes: [{name: data, target: /data}]", "placement: {hosts: ["+first+"]}"))
	f.AwaitWorkload("stays", soon, "runs", runsOn(first))
	for _, name := range []string{"forced", "purged"} {
		f.Apply(container(t, f, name, "volumes: [{name: data, target: /data}]", "placement: {hosts: ["+first+"]}"))
		f.AwaitWorkload(name, soon, "runs", runsOn(first))
	}
	kept := idOf(t, "berth."+f.ID+"."+first+".stays")

	agents[first].Kill()
	f.AwaitHost(first, soon, v1.HostOffline)
	f.AwaitWorkload("moves", soon, "moved", runsOn(second))
	require.Len(t, on(t, f, first, "moves"), 1, "the old copy runs on until its host is back")
	f.AwaitPhase("stays", soon, v1.PhaseLost)

	for name, change := range map[string]client.Change{"forced": {Force: true}, "purged": {Force: true, Volumes: true}} {
		_, err := f.Client().Do(t.Context(), name, v1.VerbRemove, change)
		require.NoError(t, err)
		f.AwaitGone(name, soon)
	}
	f.Apply(container(t, f, "forced", "placement: {hosts: ["+second+"]}"))
	f.AwaitWorkload("forced", soon, "runs again under its name", runsOn(second))

	agents[first].Start()
	f.AwaitHost(first, soon, v1.HostOnline)
	f.AwaitPhase("stays", soon, v1.PhaseRunning)
	harness.Eventually(t, func() bool {
		return len(on(t, f, first, "moves"))+len(on(t, f, first, "forced"))+len(on(t, f, first, "purged")) == 0
	}, soon, poll, "debts are paid")
	require.True(t, awaitEqual(t, []string{"berth." + f.ID + "." + first + ".forced.data", "berth." + f.ID + "." + first + ".stays.data"},
		func() []string { return harness.Volumes(t, f.ID) }), "a debt takes volumes only when asked to")
	require.Equal(t, kept, idOf(t, "berth."+f.ID+"."+first+".stays"), "what was not replaced is kept")
	require.Len(t, on(t, f, second, "moves"), 1)
	require.Len(t, on(t, f, second, "forced"), 1)
	harness.Eventually(t, func() bool {
		h, err := f.Client().Host(t.Context(), first)
		return err == nil && len(h.Debts) == 0 && h.Workloads == 1
	}, soon, poll, "the ledger agrees")
	for _, name := range []string{"moves", "stays", "forced"} {
		remove(t, f, name)
	}
}

func TestAForgottenHost(t *testing.T) {
	t.Parallel()
	f, agents := twoHosts(t)
	agents["h1"].Kill()
	away := f.AwaitHost("h1", soon, v1.HostOffline)
	require.NotNil(t, away.LastBeat)
	require.True(t, away.LastBeat.Before(away.LastChange))
	require.Equal(t, &v1.Amounts{}, away.Free, "nobody is there to give anything")
	require.NotZero(t, away.Capacity.Memory)
	offline := regexp.MustCompile(`h1 +Offline .* none of 300\.0 MiB`)
	harness.Eventually(t, func() bool { // lists are a moment behind
		_, out := f.CLI("hosts")
		return offline.MatchString(out)
	}, soon, poll)
	h, err := f.Client().Forget(t.Context(), "h1")
	require.NoError(t, err)
	require.Equal(t, v1.HostForgotten, h.State)
	for verb, host := range map[string]string{"drain": "h1", "runtimes/docker/disable": "h1", "adopt": "h2", "forget": "h2"} {
		code, body := f.Call(http.MethodPost, "/v1/hosts/"+host+"/"+verb, nil)
		require.Equal(t, http.StatusUnprocessableEntity, code, verb)
		require.Contains(t, string(body), `"advice"`, verb)
	}
	for _, verb := range []string{"cordon", "uncordon", "drain", "forget", "adopt", "runtimes/docker/enable"} {
		code, _ := f.Call(http.MethodPost, "/v1/hosts/h3/"+verb, nil)
		require.Equal(t, http.StatusNotFound, code, "nobody has heard of h3: "+verb)
	}
	agents["h1"].Launch()
	require.NotZero(t, agents["h1"].Await(soon), "the agent is refused, and ends")
	require.Contains(t, agents["h1"].Log(), "berth adopt h1")
	_, err = f.Client().Adopt(t.Context(), "h1")
	require.NoError(t, err)
	agents["h1"].Start()
	f.AwaitHost("h1", soon, v1.HostOnline)
}

func TestAnotherAgentForTheSameHostIsRefused(t *testing.T) {
	t.Parallel()
	f := fleet(t)
	other := f.StartAgent(hostName+"-copy", append([]string{"--host-id", hostName, "--run-dir", t.TempDir()}, pace...)...)
	require.NotZero(t, other.Await(soon))
	require.Contains(t, other.Log(), "known as instance")
	h := f.AwaitHost(hostName, soon, v1.HostOnline)
	require.Equal(t, v1.HostOnline, h.State)
	harness.Eventually(t, func() bool { return f.Agents[0].Running() }, soon, poll)
}
