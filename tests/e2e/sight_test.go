package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
	"github.com/berth-dev/berth/workflows/contract"
)

// TestOutOfSightIsNotGone takes the runtimes and a record away from an agent. Nothing is made again and nothing is taken for
// dead; afterwards all is as it was.
func TestOutOfSightIsNotGone(t *testing.T) {
	oneGuest(t)
	f, docker, libvirt := relayed(t)
	docker.Open()
	libvirt.Open()
	f.Apply(container(t, f, "box"))
	f.Apply(vm(f, "guest", harness.ServeFile(t, harness.GuestImage(t)).URL, "", "stopGracePeriod: 1s"))
	names := []string{"box", "guest"}
	for _, name := range names {
		f.AwaitPhase(name, long, v1.PhaseRunning)
	}
	box, guest := inspect(t, f, "box"), domainID(t, f, "guest")
	ready := func(want bool) {
		t.Helper()
		harness.Eventually(t, func() bool {
			r := runtimes(t, f)
			return r["docker"].Ready == want && r["libvirt"].Ready == want
		}, soon, poll)
		for _, name := range names {
			v := f.AwaitPhase(name, soon, v1.PhaseRunning)
			require.Empty(t, v.Status.Reason)
			require.Zero(t, v.Status.Restarts)
		}
	}
	ready(true)
	restart := func() {
		t.Helper()
		lease := f.AwaitHost(hostName, soon, v1.HostOnline).LeaseNo
		f.Agents[0].Restart()
		harness.Eventually(t, func() bool {
			h, err := f.Client().Host(t.Context(), hostName)
			return err == nil && h.State == v1.HostOnline && h.LeaseNo > lease
		}, soon, poll)
	}

	docker.Shut() // nobody listens
	libvirt.Shut()
	ready(false)
	restart() // and an agent that never saw them
	ready(false)
	docker.Open()
	libvirt.Open()
	ready(true)

	docker.Freeze() // nobody answers
	libvirt.Freeze()
	ready(false)
	docker.Thaw()
	libvirt.Thaw()
	ready(true)

	mend := spoil(t, f, "box")
	restart()
	ready(true)
	a := f.Do("box", v1.VerbStop)
	f.AwaitWorkload("box", soon, "it says that its record can't be read", func(v v1.View) bool {
		return v.Status.Reason == v1.ReasonRuntimeUnavailable && strings.Contains(v.Status.Message, "record")
	})
	require.True(t, inspect(t, f, "box").State.Running)
	mend()
	require.Equal(t, v1.PhaseStopped, awaitSettled(f, a).Status.Phase)

	require.Equal(t, box.ID, inspect(t, f, "box").ID)
	require.Equal(t, box.State.StartedAt, inspect(t, f, "box").State.StartedAt)
	require.Equal(t, guest, domainID(t, f, "guest"))
	for _, name := range names {
		for _, o := range f.Past(name).Observed {
			require.Equalf(t, contract.RunRunning, o.State, "%s: %+v", name, o)
		}
		deploys := listActions(t, f, client.ActionFilter{Workload: name, Verb: string(v1.VerbDeploy)})
		require.Len(t, deploys, 1, "nothing was made again")
	}
	for _, name := range names {
		remove(t, f, name)
	}
}

// domainID is a running domain's UUID with the id that libvirt gave to this run of it.
func domainID(t *testing.T, f *harness.Fleet, workload string) string {
	t.Helper()
	return harness.Virsh(t, "domuuid", containerName(f, workload)) + harness.Virsh(t, "domid", containerName(f, workload))
}

// spoil stops the agent for a moment and makes a record unreadable, until mend is called.
func spoil(t *testing.T, f *harness.Fleet, workload string) (mend func()) {
	t.Helper()
	path := filepath.Join(f.Agents[0].DataDir, "workloads", workload, "record.json")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, json.Valid(data))
	require.NoError(t, os.Rename(path, path+".whole"))
	require.NoError(t, os.Mkdir(path, 0o700))
	return func() {
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.Rename(path+".whole", path))
	}
}

// TestACallThatHangs holds back what an agent asks about one workload: only that one has to wait.
func TestACallThatHangs(t *testing.T) {
	oneGuest(t)
	f, docker, libvirt := relayed(t)
	docker.Open()
	libvirt.Open()
	image := harness.ServeFile(t, harness.GuestImage(t)).URL
	f.Apply(container(t, f, "held"))
	f.Apply(vm(f, "held-vm", image, "", "stopGracePeriod: 1s"))
	f.AwaitPhase("held", soon, v1.PhaseRunning)
	f.AwaitPhase("held-vm", long, v1.PhaseRunning)
	lease := f.AwaitHost(hostName, soon, v1.HostOnline).LeaseNo

	docker.Hold("berth.workload%3Dheld%22")
	libvirt.Hold(containerName(f, "held-vm"))
	stops := []v1.Accepted{f.Do("held", v1.VerbStop), f.Do("held-vm", v1.VerbStop)}
	harness.Eventually(t, func() bool { return docker.Holds() > 0 && libvirt.Holds() > 0 }, soon, poll)

	for _, w := range []*v1.Workload{container(t, f, "free"), vm(f, "free-vm", image, "", "stopGracePeriod: 1s")} {
		name := w.Metadata.Name
		f.Apply(w)
		f.AwaitPhase(name, long, v1.PhaseRunning)
		require.Equal(t, v1.PhaseStopped, awaitSettled(f, f.Do(name, v1.VerbStop)).Status.Phase)
		remove(t, f, name)
	}
	h := f.AwaitHost(hostName, soon, v1.HostOnline)
	require.Equal(t, lease, h.LeaseNo, "the lease went on")
	for _, name := range []string{"held", "held-vm"} {
		require.Equal(t, v1.PhaseStopping, f.Workload(name).Status.Phase)
	}
	for name, r := range runtimes(t, f) {
		require.Truef(t, r.Ready, "%s: %s", name, r.Message)
	}
	docker.Release()
	libvirt.Release()
	for i, name := range []string{"held", "held-vm"} {
		f.AwaitWorkload(name, long, "it is stopped", func(v v1.View) bool { return settled(stops[i])(v) && v.Status.Phase == v1.PhaseStopped })
		remove(t, f, name)
	}
}
