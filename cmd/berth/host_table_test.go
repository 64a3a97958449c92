package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
)

func TestHostTables(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	beat := now.Add(-2 * time.Second)
	h := v1.Host{
		Name: "h1", State: v1.HostOnline, Cordoned: true, Message: "the agent speaks contract 2", Labels: map[string]string{"rack": "a", "disk": "ssd"},
		Capacity: v1.Amounts{CPUs: 4000, Memory: 8 << 30, Disk: 100 << 30}, Reserved: v1.Amounts{CPUs: 1500, Memory: 2 << 30, Disk: 10 << 30},
		Workloads: 3, Debts: []string{"old"}, Instance: "i1", Version: "1.2.3", LastBeat: &beat, LastChange: now.Add(-time.Hour),
		Runtimes: []v1.Runtime{
			{Name: "docker", Version: "28.5.2", Ready: true},
			{Name: "libvirt", Version: "9.0.0", Message: "switched off by an admin"},
		},
	}
	var list, one strings.Builder
	require.NoError(t, hostsTable([]v1.Host{h}, now).print(&list))
	require.NoError(t, hostTable(h, now).print(&one))
	for _, want := range []string{
		"Online,cordoned", "2s ago", "2500m of 4", "6.0 GiB of 8.0 GiB", "docker 28.5.2, libvirt (down)", "disk=ssd,rack=a",
		"the agent speaks contract 2; first removes old; libvirt: switched off by an admin", "1h",
	} {
		require.Contains(t, list.String(), want)
	}
	for _, want := range []string{
		"Online,cordoned for 1h", "2s ago", "2.0 GiB/8.0 GiB, 6.0 GiB free", "docker 28.5.2", "libvirt (down): switched off by an admin",
		"disk=ssd rack=a", "old", "1.2.3", "i1",
	} {
		require.Contains(t, one.String(), want)
	}
	h.Runtimes[1] = v1.Runtime{Name: "libvirt", Version: "libvirt 9.0.0, QEMU 7.2.22", Ready: true, Message: "emulated"}
	list.Reset()
	one.Reset()
	require.NoError(t, hostsTable([]v1.Host{h}, now).print(&list))
	require.NoError(t, hostTable(h, now).print(&one))
	require.Contains(t, list.String(), "docker 28.5.2, libvirt 9.0.0  no")
	require.Contains(t, one.String(), "libvirt 9.0.0, QEMU 7.2.22: emulated")
	since := now.Add(-3 * time.Hour)
	h.StateSince = &since
	one.Reset()
	require.NoError(t, hostTable(h, now).print(&one))
	require.Contains(t, one.String(), "Online,cordoned for 3h", "a cordon is no change of its state")
	h.LastBeat = nil
	require.Empty(t, beatText(h, now))
}

func TestAHostThatIsAwayShowsNothingAsIfItWereThere(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	h := v1.Host{
		Name: "h1", Guard: true, Instance: "i1", LastChange: now,
		Capacity: v1.Amounts{CPUs: 4000, Memory: 8 << 30, Disk: 100 << 30}, Reserved: v1.Amounts{CPUs: 1500, Memory: 2 << 30, Disk: 10 << 30},
		Runtimes: []v1.Runtime{{Name: "docker", Version: "28.5.2", Ready: true}},
	}
	const there, then = "2500m of 4 *6.0 GiB of 8.0 GiB *90.0 GiB of 100.0 GiB *docker 28.5.2 *yes", `\(when it was last heard of\)`
	for _, tc := range []struct {
		state                      v1.HostState
		list, cpus, guard, runtime string
	}{
		{v1.HostOnline, there, "1500m/4, 2500m free", "yes\n", "docker 28.5.2\n"},
		{v1.HostJoining, "none of 4 *none of 8.0 GiB *none of 100.0 GiB *docker 28.5.2 *yes", "1500m/4, none free", "yes\n", "docker 28.5.2\n"},
		{v1.HostOffline, "none of 4 *none of 8.0 GiB *none of 100.0 GiB *docker 28.5.2 *[?]", "1500m/4, none free", "yes " + then, "docker 28.5.2 " + then},
		{v1.HostLeft, "none of 4 .*[?]", "none free", "yes " + then, then},
		{v1.HostForgotten, "none of 4 .*[?]", "none free", "yes " + then, then},
	} {
		t.Run(string(tc.state), func(t *testing.T) {
			h.State = tc.state
			var list, one strings.Builder
			require.NoError(t, hostsTable([]v1.Host{h}, now).print(&list))
			require.NoError(t, hostTable(h, now).print(&one))
			require.Regexp(t, tc.list, list.String())
			require.Regexp(t, "CPUS +.*"+tc.cpus, one.String())
			require.Regexp(t, "GUARD +"+tc.guard, one.String())
			require.Regexp(t, "RUNTIME +.*"+tc.runtime, one.String())
		})
	}
}
