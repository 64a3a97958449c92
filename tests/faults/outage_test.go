package faults

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// outage is how long what is away stays away, and patience how long hosts that are lost are waited for.
func outage() (away, patience time.Duration) {
	if full() {
		return 10 * time.Minute, 45 * time.Second
	}
	return 15 * time.Second, 30 * time.Second
}

// outageFleet is two hosts with work that would move as soon as it may.
type outageFleet struct {
	*harness.Fleet
	t *testing.T
}

const (
	steady, crashing, machine = "steady", "crashing", "machine"
)

func newOutageFleet(t *testing.T, more ...string) *outageFleet {
	t.Helper()
	f := &outageFleet{Fleet: harness.NewFleet(t), t: t}
	_, patience := outage()
	args := slices.Concat(pace(), []string{"--grace", patience.String()}, more)
	f.StartServer(args...)
	for _, host := range []string{"h1", "h2"} {
		f.StartAgent(host, slices.Concat(args, []string{"--allow-path", filepath.Dir(harness.GuestImage(t))})...)
		f.AwaitHost(host, within, v1.HostOnline)
	}
	for _, name := range []string{steady, crashing} {
		f.Apply(f.Parse(fmt.Sprintf("apiVersion: berth/v1\nkind: Container\nmetadata: {name: %s}\nspec:\n  image: %s\n  pull: never\n  moveAfter: 1s\n"+
			"  command: [/bin/sh, -c, 'while [ ! -e /tmp/end ]; do sleep 0.1; done; rm /tmp/end; exit 3']\n", name, harness.ContainerImage(t))))
		f.AwaitPhase(name, within, v1.PhaseRunning)
	}
	f.Apply(f.Parse(fmt.Sprintf("apiVersion: berth/v1\nkind: VM\nmetadata: {name: %s}\nspec:\n  vcpus: 1\n  memory: 128Mi\n"+
		"  stopGracePeriod: 1s\n  disks: [{name: root, image: {path: %s}}]\n", machine, harness.GuestImage(t))))
	f.AwaitPhase(machine, within, v1.PhaseRunning)
	return f
}

// held is what runs on the hosts: the containers with the times of their last starts, and the domain with its number, which
// changes with every start.
func (f *outageFleet) held() string {
	f.t.Helper()
	var all []string
	for _, name := range harness.RunningContainers(f.t, f.ID) {
		out, err := run(f.t.Context(), "docker", "inspect", "--format", "{{.Name}} {{.Id}} {{.State.StartedAt}}", name)
		if err == nil && !strings.HasSuffix(name, "."+crashing) {
			all = append(all, strings.TrimSpace(out))
		}
	}
	for _, domain := range harness.RunningDomains(f.t, f.ID) {
		all = append(all, domain+" "+strings.TrimSpace(harness.Virsh(f.t, "domid", domain)))
	}
	return strings.Join(all, "\n")
}

// crash lets a container end by itself, and waits until its host has started it again.
func (f *outageFleet) crash() {
	f.t.Helper()
	var name string
	for _, n := range harness.RunningContainers(f.t, f.ID) {
		if strings.HasSuffix(n, "."+crashing) {
			name = n
		}
	}
	look := func() string {
		out, err := run(f.t.Context(), "docker", "inspect", "--format", "{{.Id}} {{.State.Running}} {{.State.StartedAt}}", name)
		if err != nil {
			return err.Error()
		}
		return out
	}
	before := strings.Fields(look())
	_, err := run(f.t.Context(), "docker", "exec", name, "touch", "/tmp/end")
	require.NoError(f.t, err)
	harness.Eventually(f.t, func() bool {
		now := strings.Fields(look())
		return len(now) == 3 && now[0] == before[0] && now[1] == "true" && now[2] != before[2]
	}, within, 100*time.Millisecond, "a host starts again what ended, also when nobody else is there")
}

// places are where the workloads are by their statuses.
func (f *outageFleet) places() map[string]string {
	f.t.Helper()
	at := map[string]string{}
	for _, name := range []string{steady, crashing, machine} {
		at[name] = f.Workload(name).Status.Host
	}
	return at
}

// prove takes something away for a while, and brings it back. Meanwhile and afterwards, nothing stops and nothing moves. Leased
// says what must have become of a host's lease.
func (f *outageFleet) prove(takeAway, bringBack func(), leased func(before, now v1.Host) bool) {
	f.t.Helper()
	var hosts []v1.Host
	for _, host := range []string{"h1", "h2"} {
		hosts = append(hosts, f.AwaitHost(host, within, v1.HostOnline))
	}
	away, patience := outage()
	before, places := f.held(), f.places()
	begin := time.Now()
	takeAway()
	f.crash()
	require.Never(f.t, func() bool { return f.held() != before }, away-time.Since(begin), time.Second, "it was\n%s", before)

	begin = time.Now()
	bringBack()
	for _, h := range hosts {
		harness.Eventually(f.t, func() bool {
			now, err := f.Client().Host(f.t.Context(), h.Name)
			return err == nil && now.State == v1.HostOnline && leased(h, now)
		}, within, 100*time.Millisecond)
	}
	online := time.Since(begin)
	for name := range places {
		f.AwaitPhase(name, within, v1.PhaseRunning)
	}
	running := time.Since(begin)
	// A move that was going to come would have come by then.
	require.Never(f.t, func() bool { return f.held() != before }, patience+3*time.Second, time.Second, "it was\n%s", before)
	require.Equal(f.t, places, f.places())
	require.Equal(f.t, 1, f.Workload(crashing).Status.Restarts, "what the host did meanwhile is told")
	begin = time.Now()
	f.Apply(f.Parse("apiVersion: berth/v1\nkind: Container\nmetadata: {name: fresh}\nspec:\n  pull: never\n  image: " + harness.ContainerImage(f.t) + "\n"))
	f.AwaitPhase("fresh", within, v1.PhaseRunning)
	f.t.Logf("away %s; hosts online after %s, workloads running after %s; a fresh one in %s", away,
		online.Round(time.Millisecond), running.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond))
}

// leaseWithin is a lease that ends within an outage unless it is renewed, and as long as that allows: slowness does not end it.
func leaseWithin(away, _ time.Duration) []string {
	if full() {
		return nil
	}
	return []string{"--lease", (away - 3*time.Second).String()}
}

func TestTemporalIsAway(t *testing.T) {
	t.Parallel()
	f := newOutageFleet(t)
	f.prove(f.Temporal.Kill, f.Temporal.Start, func(before, now v1.Host) bool { return now.LeaseNo > before.LeaseNo })
}

func TestTheControlPlaneIsAway(t *testing.T) {
	t.Parallel()
	f := newOutageFleet(t, leaseWithin(outage())...)
	f.prove(f.Servers[0].Kill, f.Servers[0].Start, func(before, now v1.Host) bool {
		return now.LeaseNo == before.LeaseNo && now.OnlineAt.Equal(*before.OnlineAt) // a lease needs no control plane
	})
}
