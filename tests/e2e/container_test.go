package e2e

import (
	"io"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

func TestContainers(t *testing.T) {
	runAll(t, fleet(t), []subtest{
		{"from PUT to Running to gone", putRunDelete},
		{"an update replaces the container", updateReplaces},
		{"stop, start and restart keep the container", verbsKeep},
		{"a volume outlives updates and a remove", volumes},
		{"what is published answers", ports},
	})
}

func putRunDelete(t *testing.T, f *harness.Fleet) {
	w := container(t, f, "web", "labels: {org.example: x}")
	a := f.Apply(w)
	require.Equal(t, "created", a.Changed)
	v := f.AwaitPhase("web", soon, v1.PhaseRunning)
	require.Equal(t, hostName, v.Status.Host)
	require.EqualValues(t, 1, v.Status.RunningGeneration)
	first := inspect(t, f, "web")
	require.True(t, first.State.Running)
	require.Equal(t, "x", first.Config.Labels["org.example"])

	again := f.Apply(w)
	require.Equal(t, "unchanged", again.Changed)
	require.EqualValues(t, 1, again.Generation)
	require.Equal(t, first.ID, inspect(t, f, "web").ID)

	remove(t, f, "web")
	require.Empty(t, containersOf(t, f, "web"))
}

func updateReplaces(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "up", `env: {COLOR: blue}`))
	f.AwaitPhase("up", soon, v1.PhaseRunning)
	first := inspect(t, f, "up")
	require.Contains(t, first.Config.Env, "COLOR=blue")

	a := f.Apply(container(t, f, "up", `env: {COLOR: green}`))
	require.Equal(t, "updated", a.Changed)
	require.EqualValues(t, 2, a.Generation)
	v := awaitSettled(f, a)
	require.Equal(t, v1.PhaseRunning, v.Status.Phase)
	require.EqualValues(t, 2, v.Status.RunningGeneration)
	second := inspect(t, f, "up")
	require.NotEqual(t, first.ID, second.ID)
	require.Contains(t, second.Config.Env, "COLOR=green")
	require.Len(t, containersOf(t, f, "up"), 1)

	image := "berth-test-" + f.ID + ":other"
	docker(t, "tag", harness.ContainerImage(t), image)
	t.Cleanup(func() { docker(t, "rmi", image) })
	w := container(t, f, "up", `env: {COLOR: green}`)
	w.Container.Image = image
	awaitSettled(f, f.Apply(w))
	third := inspect(t, f, "up")
	require.NotEqual(t, second.ID, third.ID)
	require.Len(t, containersOf(t, f, "up"), 1)
	remove(t, f, "up")
}

func verbsKeep(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "verbs"))
	f.AwaitPhase("verbs", soon, v1.PhaseRunning)
	first := inspect(t, f, "verbs")

	v := awaitSettled(f, f.Do("verbs", v1.VerbStop))
	require.Equal(t, v1.PhaseStopped, v.Status.Phase)
	require.Equal(t, v1.ReasonUserStopped, v.Status.Reason)
	require.False(t, inspect(t, f, "verbs").State.Running)

	v = awaitSettled(f, f.Do("verbs", v1.VerbStart))
	require.Equal(t, v1.PhaseRunning, v.Status.Phase)
	started := inspect(t, f, "verbs")
	require.Equal(t, first.ID, started.ID)
	require.True(t, started.State.Running)

	v = awaitSettled(f, f.Do("verbs", v1.VerbRestart))
	require.Equal(t, v1.PhaseRunning, v.Status.Phase)
	restarted := inspect(t, f, "verbs")
	require.Equal(t, first.ID, restarted.ID)
	require.NotEqual(t, started.State.StartedAt, restarted.State.StartedAt)
	remove(t, f, "verbs")
}

func volumes(t *testing.T, f *harness.Fleet) {
	lines := []string{"volumes: [{name: data, target: /data}]", shell("date +%s%N >>/data/starts; " + idle)}
	f.Apply(container(t, f, "vol", append(lines, "env: {N: one}")...))
	f.AwaitPhase("vol", soon, v1.PhaseRunning)
	awaitSettled(f, f.Apply(container(t, f, "vol", append(lines, "env: {N: two}")...)))
	harness.Eventually(t, func() bool {
		return docker(t, "exec", containerName(f, "vol"), "sh", "-c", "grep -c . /data/starts") == "2\n"
	}, soon, poll, "the second container adds its line to the first one's")
	volume := containerName(f, "vol") + ".data"
	require.Equal(t, []string{volume}, only(t, f, "vol", harness.Volumes(t, f.ID)))
	a := f.Do("vol", v1.VerbRemove)
	require.Equal(t, []v1.Kept{{Kind: v1.KeptVolume, Host: hostName, Name: "data", Ref: volume}}, a.Kept)
	f.AwaitGone("vol", soon)
	require.Equal(t, []string{volume}, only(t, f, "vol", harness.Volumes(t, f.ID)), "it stays")
	require.Empty(t, containersOf(t, f, "vol"))

	f.Apply(container(t, f, "vol", lines...))
	f.AwaitPhase("vol", soon, v1.PhaseRunning)
	harness.Eventually(t, func() bool {
		return docker(t, "exec", containerName(f, "vol"), "sh", "-c", "grep -c . /data/starts") == "3\n"
	}, soon, poll, "a new workload of the same name finds it again")
	code, out := f.CLI("delete", "vol", "--wait")
	require.Zero(t, code, out)
	require.Contains(t, out, "vol: stays on host h1: volume data ("+volume+")")

	f.Apply(container(t, f, "vol", lines...))
	f.AwaitPhase("vol", soon, v1.PhaseRunning)
	purge(t, f, "vol")
	require.Empty(t, only(t, f, "vol", harness.Volumes(t, f.ID)))
}

func ports(t *testing.T, f *harness.Fleet) {
	port := strconv.Itoa(harness.FreePort(t))
	f.Apply(container(t, f, "ports", "ports: [{container: 8080, host: "+port+", hostIP: 127.0.0.1}]"))
	f.AwaitPhase("ports", soon, v1.PhaseRunning)
	harness.Eventually(t, func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+port+"/", nil)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		return err == nil && string(body) == "A container that Berth runs.\n"
	}, soon, poll)
	remove(t, f, "ports")
}
