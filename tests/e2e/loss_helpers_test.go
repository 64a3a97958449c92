package e2e

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/host"
)

// lossPace is the pace of fleets whose hosts get lost: moves come soon after.
var lossPace = append([]string{"--grace", "1s"}, pace...)

// stateOf is all that a host's entity knows.
func stateOf(t *testing.T, f *harness.Fleet, name string) host.State {
	t.Helper()
	var s host.State
	value, err := f.Temporal.Client().QueryWorkflow(t.Context(), contract.HostID(name), "", contract.QueryHostFull)
	require.NoError(t, err)
	require.NoError(t, value.Get(&s))
	return s
}

// awaitAgreement waits until a host's ledger holds just what runs there, with the memory and the ports of their specs, and
// owes nothing. What runs are names of containers and domains.
func awaitAgreement(t *testing.T, f *harness.Fleet, name string, running func() []string) {
	t.Helper()
	ours := "berth." + f.ID + "." + name + "."
	var last string
	harness.Eventually(t, func() bool {
		s := stateOf(t, f, name)
		var runs []string
		for _, r := range running() {
			if workload, ok := strings.CutPrefix(r, ours); ok {
				runs = append(runs, workload)
			}
		}
		slices.Sort(runs)
		last = fmt.Sprintf("the ledger holds %+v, owes %v; %v run", s.Ledger.Entries, s.Debts, runs)
		if len(s.Debts) > 0 || !slices.Equal(runs, slices.Sorted(maps.Keys(s.Ledger.Entries))) {
			return false
		}
		for workload, entry := range s.Ledger.Entries {
			view := f.Workload(workload)
			if !entry.Bound || entry.Old != nil || view.Status.Host != name || !sameNeeds(entry.Needs, view) {
				return false
			}
		}
		return true
	}, soon, poll, "host %s: %s", name, &last)
}

// sameNeeds holds a reservation against what the workload has by its status.
func sameNeeds(n contract.Needs, view v1.View) bool {
	for _, p := range n.Ports {
		if !slices.ContainsFunc(view.Status.Ports, func(s string) bool { return strings.Contains(s, fmt.Sprintf("%d:", p.Port)) }) {
			return false
		}
	}
	return len(n.Ports) == len(view.Status.Ports)
}

// runningHere are the fleet's containers and domains on this machine.
func runningHere(t *testing.T, f *harness.Fleet) func() []string {
	t.Helper()
	return func() []string { return append(harness.RunningContainers(t, f.ID), harness.RunningDomains(t, f.ID)...) }
}

// withGuests lets a host's agent take the guest's image from this machine: a host in a namespace reaches no test's server.
func withGuests(t *testing.T, args ...string) []string {
	t.Helper()
	return append(append([]string{"--allow-path", filepath.Dir(harness.GuestImage(t))}, args...), lossPace...)
}

// startGuest starts a virtual machine on a host, and waits until it runs. Nobody needs what it does then, so that nobody waits
// for its boot.
func startGuest(t *testing.T, f *harness.Fleet, name, where string, lines ...string) {
	t.Helper()
	w := vm(f, name, "http://nowhere", "", append([]string{"stopGracePeriod: 1s", "placement: {hosts: [" + where + "]}"}, lines...)...)
	w.VM.Disks[0].Image = &v1.DiskImage{Path: harness.GuestImage(t)}
	f.Apply(w)
	f.AwaitWorkload(name, long, "runs on "+where, runsOn(where))
}

// starts follows which of the fleet's containers this machine's engine starts, from now on.
func starts(t *testing.T, f *harness.Fleet) *harness.Process {
	t.Helper()
	now := time.Now() // what starts before the command has connected is told, too
	return harness.Run(t, harness.Command{Name: "docker-events", Path: "docker", Args: []string{
		"events", "--since", fmt.Sprintf("%d.%09d", now.Unix(), now.Nanosecond()), "--filter", "event=start", "--filter", "label=berth.fleet=" + f.ID, "--format", "{{.Actor.Attributes.name}}",
	}})
}

func lost(v v1.View) bool {
	return v.Status.Phase == v1.PhaseLost && v.Status.Reason == v1.ReasonHostLost
}
