package e2e

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// TestACutHost cuts a host off, with all that may be on it, and brings it back. It shares this machine's runtimes with the
// other one, so that the test sees both.
func TestACutHost(t *testing.T) {
	t.Parallel()
	f := harness.NewFleet(t)
	f.StartServer(lossPace...)
	link := f.NewNet("h1")
	f.StartAgentIn(link, "h1", withGuests(t, "--memory", "1Gi")...)
	f.AwaitHost("h1", soon, v1.HostOnline)
	const onH1 = "placement: {hosts: [h1]}"
	f.Apply(container(t, f, "moves", moveSoon))
	f.AwaitWorkload("moves", soon, "runs on h1", runsOn("h1"))
	f.StartAgent("h2", append([]string{"--memory", "1Gi"}, lossPace...)...)
	f.AwaitHost("h2", soon, v1.HostOnline)
	f.Apply(container(t, f, "data", onH1, "volumes: [{name: d, target: /d}]", "ports: [{container: 8080, host: "+strconv.Itoa(harness.FreePort(t))+"}]"))
	f.Apply(container(t, f, "waits", onH1, "onHostLoss: wait", shell(untilFile("/tmp/end", "rm /tmp/end; exit 3"))))
	f.AwaitWorkload("data", soon, "runs", runsOn("h1"))
	f.AwaitWorkload("waits", soon, "runs", runsOn("h1"))
	startGuest(t, f, "guest", "h1")
	ids := map[string]string{}
	for _, name := range []string{"data", "waits", "moves"} {
		ids[name] = idOf(t, "berth."+f.ID+".h1."+name)
	}
	domain := "berth." + f.ID + ".h1.guest"
	pid := harness.Virsh(t, "domid", domain)

	link.Cut()
	f.AwaitHost("h1", soon, v1.HostOffline)
	f.AwaitWorkload("moves", soon, "moved", runsOn("h2"))
	for _, name := range []string{"data", "waits", "guest"} {
		v := f.AwaitWorkload(name, soon, "is lost", lost)
		require.Contains(t, v.Status.Message, "may still run")
		require.Equal(t, "h1", v.Status.Host)
	}
	require.Equal(t, ids["moves"], idOf(t, "berth."+f.ID+".h1.moves"), "the old copy runs on until its host is back")
	restart := f.Do("data", v1.VerbRestart)
	v := f.AwaitWorkload("data", soon, "the restart waits and says why", func(v v1.View) bool {
		return v.Status.Seq >= restart.Seq && v.Status.Reason == v1.ReasonHostLost || v.Status.Reason == v1.ReasonHostOffline
	})
	require.Equal(t, "h1", v.Status.Host)
	require.Empty(t, on(t, f, "h2", "data"), "it does not start without its data")
	started := docker(t, "inspect", "-f", "{{.State.StartedAt}}", "berth."+f.ID+".h1.waits")
	docker(t, "exec", "berth."+f.ID+".h1.waits", "touch", "/tmp/end")
	harness.Eventually(t, func() bool {
		out := docker(t, "inspect", "-f", "{{.State.Running}} {{.State.StartedAt}}", "berth."+f.ID+".h1.waits")
		return strings.HasPrefix(out, "true ") && out != "true "+started
	}, soon, poll, "a host that is cut off starts again what ended")

	link.Heal()
	f.AwaitHost("h1", soon, v1.HostOnline)
	harness.Eventually(t, func() bool { return len(on(t, f, "h1", "moves")) == 0 }, soon, poll, "the debt is paid")
	f.AwaitWorkload("data", soon, "was restarted", settled(restart))
	for _, name := range []string{"data", "waits", "guest"} {
		f.AwaitWorkload(name, soon, "runs", runsOn("h1"))
	}
	require.Equal(t, ids["data"], idOf(t, "berth."+f.ID+".h1.data"), "what was not replaced is kept")
	require.Equal(t, ids["waits"], idOf(t, "berth."+f.ID+".h1.waits"))
	f.AwaitWorkload("waits", soon, "what it did meanwhile is told", func(v v1.View) bool { return v.Status.Restarts == 1 })
	require.Equal(t, pid, harness.Virsh(t, "domid", domain), "the guest ran on")
	awaitAgreement(t, f, "h1", runningHere(t, f))
	awaitAgreement(t, f, "h2", runningHere(t, f))
	require.Len(t, on(t, f, "h2", "moves"), 1)
}
