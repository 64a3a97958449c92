package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// TestPinned loses the host of workloads with a named volume, a bind and a disk: they never start on the other one. Then the
// host is given up, and comes back after all.
func TestPinned(t *testing.T) {
	t.Parallel()
	binds := harness.OpenDir(t, "binds")
	f := harness.NewFleet(t)
	f.StartServer(lossPace...)
	args := withGuests(t, "--allow-path", binds)
	first := f.StartAgent("h1", args...)
	f.AwaitHost("h1", soon, v1.HostOnline)
	f.Apply(container(t, f, "volume", "volumes: [{name: d, target: /d}]"))
	f.Apply(container(t, f, "bind", "volumes: [{bind: "+binds+", target: /d}]"))
	f.AwaitPhase("volume", soon, v1.PhaseRunning)
	f.AwaitPhase("bind", soon, v1.PhaseRunning)
	startGuest(t, f, "disk", "h1")
	f.StartAgent("h2", args...)
	f.AwaitHost("h2", soon, v1.HostOnline)
	pinned := []string{"volume", "bind", "disk"}

	first.Kill()
	f.AwaitHost("h1", soon, v1.HostOffline)
	for _, name := range pinned {
		f.AwaitWorkload(name, soon, "is lost", lost)
	}
	// Neither a restart nor a new spec makes it start without its data. Placement that speaks of the other host does not, either.
	f.Do("bind", v1.VerbRestart)
	f.Apply(container(t, f, "volume", "volumes: [{name: d, target: /d}]", "env: {A: b}", "placement: {hosts: [h2]}"))
	f.Do("disk", v1.VerbRestart)
	for _, name := range pinned {
		f.AwaitWorkload(name, soon, "it waits, and says why", func(v v1.View) bool {
			r := v.Status.Reason
			return v.Status.Seq > 1 && v.Status.Host == "h1" && v.Status.Message != "" && (r == v1.ReasonHostLost || r == v1.ReasonHostOffline)
		})
		_, out := f.CLI("get", name)
		require.Contains(t, out, "REASON")
		require.Contains(t, out, "h1")
	}
	require.Empty(t, on(t, f, "h2", "volume"))
	require.Empty(t, on(t, f, "h2", "bind"))
	require.NotContains(t, harness.Domains(t, f.ID), "berth."+f.ID+".h2.disk")

	code, out := f.CLI("forget", "h1")
	require.Zero(t, code, out)
	for _, name := range pinned {
		require.Contains(t, out, name, "what may remain is listed")
		v := f.AwaitWorkload(name, soon, "it says what happened", func(v v1.View) bool {
			return v.Status.Reason == v1.ReasonHostLost && v.Status.Advice != ""
		})
		require.Contains(t, v.Status.Message, "host h1 was forgotten")
	}
	first.Launch()
	require.NotZero(t, first.Await(soon), "the instance is barred")
	require.Contains(t, first.Log(), "berth adopt h1")
	_, err := f.Client().Do(t.Context(), "bind", v1.VerbRemove, client.Change{Force: true})
	require.NoError(t, err)
	f.AwaitGone("bind", soon)

	// The machine comes back after all: it holds what it did, and owes what was given up meanwhile.
	code, out = f.CLI("adopt", "h1")
	require.Zero(t, code, out)
	first.Start()
	f.AwaitHost("h1", soon, v1.HostOnline)
	harness.Eventually(t, func() bool { return len(on(t, f, "h1", "bind")) == 0 }, soon, poll, "the debt is paid")
	f.AwaitWorkload("disk", long, "runs", runsOn("h1"))
	f.Apply(container(t, f, "volume", "volumes: [{name: d, target: /d}]"))
	f.AwaitWorkload("volume", soon, "runs", runsOn("h1"))
	awaitAgreement(t, f, "h1", runningHere(t, f))
	awaitAgreement(t, f, "h2", runningHere(t, f))

	other := filepath.Join(t.TempDir(), "other.qcow2")
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	w := vm(f, "disk", "http://nowhere", "")
	w.VM.Disks[0].Image = &v1.DiskImage{Path: other}
	p := problem(t, call(t, f, http.MethodPut, "/v1/workloads/disk", w), http.StatusUnprocessableEntity, v1.ReasonImmutable)
	require.NotEmpty(t, p.Errors)
	require.Contains(t, p.Errors[0].Message, "add a disk with another name", "it says what to do instead")
}
