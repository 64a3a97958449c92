package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/api/client"
	"github.com/berth-dev/berth/api/manifest"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/host"
)

// otherHost is where workloads go that leave hostName.
const otherHost = "h2"

// movers is a fleet of two hosts with the workloads of one drain.
type movers struct {
	*fleet
	other *harness.Agent
}

// TestDrain lets faults meet the places that a workload passes on its way from a host that is drained to another one. However
// that is disturbed, it runs on the other host in the end, nothing of it is left on the old one, and both ledgers agree.
func TestDrain(t *testing.T) {
	t.Parallel()
	f := &movers{fleet: newFleet(t)}
	f.other = f.StartAgent(otherHost, append(pace(), "--cpus", "400", "--memory", "400Gi")...)
	f.AwaitHost(otherHost, within, v1.HostOnline)

	places := f.placesOfAMove(t)
	require.Subset(t, places, []string{"Place.end", "Bind.begin", "container.Start.end", "container.AwaitReady.begin", "container.Remove.begin"})
	faults := append(slices.Clone(faults), fault{"kill the other agent", func(*fleet) { f.other.Restart() }})
	for n, happens := range faults {
		var met []string
		for i, place := range places {
			if full() || i%len(faults) == n {
				met = append(met, place)
			}
		}
		t.Run(happens.name, func(t *testing.T) { f.moves(t, met, happens) })
	}
}

// placesOfAMove moves a workload without a fault, and returns the failpoints that it passes.
func (f *movers) placesOfAMove(t *testing.T) []string {
	t.Helper()
	name := "mover-0"
	f.deploy(t, name)
	for _, seen := range f.seenBy(name) {
		require.NoError(t, os.Remove(seen))
	}
	f.drain(t)
	f.arrived(t, name)
	var places []string
	for _, path := range f.seenBy(name) {
		point, _, _ := strings.Cut(filepath.Base(path), "@")
		places = append(places, point)
	}
	f.clear(t, name)
	return places
}

// moves holds one workload at each of the places, lets the fault happen, and looks at where they end.
func (f *movers) moves(t *testing.T, places []string, happens fault) {
	t.Helper()
	names := make([]string, len(places))
	for i := range places {
		f.cases++
		names[i] = fmt.Sprintf("mover-%d", f.cases)
	}
	f.deploy(t, names...)
	for i, place := range places {
		f.Arm(place + "@" + names[i])
	}
	f.drain(t)
	for i, place := range places {
		f.AwaitHit(place+"@"+names[i], within)
	}
	happens.strike(f.fleet)
	for i, place := range places {
		f.Disarm(place + "@" + names[i])
		f.Release(place + "@" + names[i])
	}
	f.arrived(t, names...)
	f.clear(t, names...)
}

// deploy brings workloads to the host that is going to be drained.
func (f *movers) deploy(t *testing.T, names ...string) {
	t.Helper()
	f.cordon(t, otherHost, true)
	for _, name := range names {
		docs, err := manifest.Parse(name, []byte("apiVersion: berth/v1\nkind: Container\nmetadata: {name: "+name+"}\nspec:\n  image: "+
			f.container+"\n  command: [/bin/serve]\n  resources: {memory: 32Mi}\n  healthCheck: {command: [/bin/true], interval: 1s}\n"))
		require.NoError(t, err)
		_, err = f.client.Put(t.Context(), docs[0].Workload, false, client.Change{})
		require.NoError(t, err)
	}
	for _, name := range names {
		require.NoError(t, until(t.Context(), within, func(ctx context.Context) error { return f.runsOn(ctx, hostName, name) }))
	}
}

func (f *movers) drain(t *testing.T) {
	t.Helper()
	f.cordon(t, otherHost, false)
	_, err := f.client.Drain(t.Context(), hostName, v1.DrainRequest{MaxParallel: v1.MaxDrainParallel})
	require.NoError(t, err)
}

func (f *movers) cordon(t *testing.T, host string, on bool) {
	t.Helper()
	_, err := f.client.Cordon(t.Context(), host, on)
	require.NoError(t, err)
}

// arrived waits until the drain is over, and checks both hosts.
func (f *movers) arrived(t *testing.T, names ...string) {
	t.Helper()
	require.NoError(t, until(t.Context(), within, func(ctx context.Context) error {
		errs := make([]error, 0, len(names)+2)
		for _, name := range names {
			errs = append(errs, f.runsOn(ctx, otherHost, name))
		}
		h, err := f.client.Host(ctx, hostName)
		if err == nil && (h.Drain == nil || h.Drain.EndedAt == nil) {
			err = fmt.Errorf("the drain is not over: %+v", h.Drain)
		}
		return errors.Join(append(errs, err, f.holds(ctx, hostName), f.holds(ctx, otherHost, names...))...)
	}))
}

// runsOn complains unless the workload runs on this host, and only there.
func (f *movers) runsOn(ctx context.Context, host, name string) error {
	view, err := f.client.Get(ctx, name)
	if err != nil {
		return err
	}
	if s := view.Status; s.Phase != v1.PhaseRunning || s.Host != host || !s.Settled {
		return fmt.Errorf("%s: not running on %s: %+v", name, host, s)
	}
	containers, err := inspectContainers(ctx, f.fleet, &work{name: name})
	if err != nil {
		return err
	}
	if len(containers) != 1 || containers[0].Config.Labels["berth.host"] != host || !containers[0].State.Running {
		return fmt.Errorf("%s: its containers are %+v", name, containers)
	}
	return nil
}

// holds complains unless a host's ledger holds these workloads, as they run, and nothing else.
func (f *movers) holds(ctx context.Context, name string, workloads ...string) error {
	value, err := f.temporal.QueryWorkflow(ctx, contract.HostID(name), "", contract.QueryHostFull)
	if err != nil {
		return err
	}
	var s host.State
	if err := value.Get(&s); err != nil {
		return err
	}
	if len(s.Ledger.Entries) != len(workloads) || len(s.Debts) > 0 {
		return fmt.Errorf("host %s holds %+v, and owes %+v", name, s.Ledger.Entries, s.Debts)
	}
	for _, w := range workloads {
		if e, held := s.Ledger.Entries[w]; !held || !e.Bound || e.Old != nil || e.Needs.Amount.Memory == 0 {
			return fmt.Errorf("host %s holds of %s %+v", name, w, e)
		}
	}
	return nil
}

// clear removes the workloads and ends the drain.
func (f *movers) clear(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		_, err := f.client.Do(t.Context(), name, v1.VerbRemove, client.Change{})
		require.NoError(t, err)
	}
	require.NoError(t, until(t.Context(), within, func(ctx context.Context) error { return f.holds(ctx, otherHost) }))
	f.cordon(t, hostName, false)
}
