package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
	"github.com/berth-dev/berth/workflows/contract"
)

// fleet answers a sweep's activities as a fleet would. A host's queue tells which one is asked.
type fleet struct {
	t       *testing.T
	ledgers map[string]contract.HostLedger
	things  map[string][]contract.Thing
	wants   map[string]contract.Want
	// broken are activities that fail, on a host or "" for all.
	broken map[string]string
	refuse map[string]string
	// unknown are hosts that were named and do not exist.
	unknown []string

	mu sync.Mutex // activities run beside each other
	// removed and repaired are what was asked for.
	removed  []string
	repaired []contract.Repair
}

// full is a host with live containers of the workload "web", and one orphan.
func full(t *testing.T, hosts ...string) *fleet {
	f := &fleet{
		t: t, ledgers: map[string]contract.HostLedger{}, things: map[string][]contract.Thing{}, broken: map[string]string{}, refuse: map[string]string{},
		wants: map[string]contract.Want{},
	}
	for _, h := range hosts {
		f.ledgers[h] = contract.HostLedger{Host: h, Instance: h, Online: true, State: v1.HostOnline, Since: since}
		name := "web-" + h
		f.wants[name] = contract.Want{Workload: name, Presence: contract.PresenceOpen, Kind: v1.KindContainer, Host: h, Fence: 6_000, Running: 2}
		for i := range 9 {
			f.things[h] = append(f.things[h], thing(contract.ThingContainer, func(t *contract.Thing) { t.Name, t.Workload = fmt.Sprintf("%s-%d", name, i), name }))
		}
		f.things[h] = append(f.things[h], thing(contract.ThingContainer, func(t *contract.Thing) { t.Name, t.Workload = "ghost-"+h, "ghost" }))
	}
	return f
}

// run runs a sweep to its end.
func (f *fleet) run(r v1.SweepRequest) (v1.Sweep, error) {
	env := f.env()
	env.ExecuteWorkflow(Sweep, contract.SweepInput{Request: r})
	require.True(f.t, env.IsWorkflowCompleted())
	var out v1.Sweep
	err := env.GetWorkflowError()
	var failed *temporal.ApplicationError
	switch {
	case err == nil:
		require.NoError(f.t, env.GetWorkflowResult(&out))
	case errors.As(err, &failed):
		require.Equal(f.t, contract.SweepFailedType, failed.Type())
		require.NoError(f.t, failed.Details(&out))
		require.Contains(f.t, failed.Message(), out.Summary.String())
	}
	return out, err
}

func (f *fleet) env() *testsuite.TestWorkflowEnvironment {
	suite := testsuite.WorkflowTestSuite{}
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	harness.Unhurried(env)
	env.SetStartTime(time.UnixMilli(1_000_000))
	for name, do := range map[string]any{
		contract.ActivityFleetHosts: func(context.Context, contract.FleetHostsIn) (contract.FleetHostsOut, error) {
			return contract.FleetHostsOut{Hosts: sortedKeys(f.ledgers), Unknown: f.unknown}, nil
		},
		contract.ActivityFleetLedgers: func(_ context.Context, in contract.FleetLedgersIn) (out contract.FleetLedgersOut, err error) {
			for _, h := range in.Hosts {
				out.Hosts = append(out.Hosts, f.ledgers[h])
			}
			return out, f.fails(contract.ActivityFleetLedgers, "")
		},
		contract.ActivityFleetWants: func(_ context.Context, in contract.FleetWantsIn) (out contract.FleetWantsOut, err error) {
			for _, w := range in.Workloads {
				want := f.wants[w]
				want.Workload = w
				out.Workloads = append(out.Workloads, want)
			}
			return out, f.fails(contract.ActivityFleetWants, "")
		},
		contract.ActivityFleetRepair: func(_ context.Context, in contract.FleetRepairIn) (contract.FleetRepairOut, error) {
			f.repaired = append(f.repaired, in.Repairs...)
			return contract.FleetRepairOut{Failed: make([]string, len(in.Repairs))}, nil
		},
		contract.ActivityInventory: f.inventory,
		contract.ActivityDiscard:   f.discard,
	} {
		env.RegisterActivityWithOptions(do, activity.RegisterOptions{Name: name})
	}
	return env
}

func (f *fleet) fails(activity, host string) error {
	if h, ok := f.broken[activity]; ok && h == host {
		return contract.AsActivityError(contract.Permanent(v1.ReasonUnavailable, "", "it does not answer"))
	}
	return nil
}

func hostOf(ctx context.Context) string {
	var host string
	for _, name := range []string{"h1", "h2", "h3"} {
		if activity.GetInfo(ctx).TaskQueue == contract.HostControlQueue(name, name) {
			host = name
		}
	}
	return host
}

// inventory answers pages of five.
func (f *fleet) inventory(ctx context.Context, in contract.InventoryIn) (out contract.InventoryOut, err error) {
	host := hostOf(ctx)
	start := 0
	if in.After != "" {
		_, err := fmt.Sscan(in.After, &start)
		require.NoError(f.t, err)
	}
	all := f.things[host]
	end := min(start+5, len(all))
	out.Things = all[start:end]
	if end < len(all) {
		out.Next = fmt.Sprint(end)
	}
	return out, f.fails(contract.ActivityInventory, host)
}

func (f *fleet) discard(ctx context.Context, in contract.DiscardIn) (out contract.DiscardOut, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range in.Orphans {
		why := f.refuse[o.Thing.Name]
		fate := contract.Fate{Failed: why}
		if why == "kept" {
			fate = contract.Fate{Kept: why}
		}
		if why == "" {
			f.removed = append(f.removed, o.Thing.Name)
		}
		out.Fates = append(out.Fates, fate)
	}
	return out, f.fails(contract.ActivityDiscard, hostOf(ctx))
}

var deleting = v1.SweepRequest{Delete: true, Grace: v1.Duration(grace)}

func TestADryRunRemovesNothing(t *testing.T) {
	f := full(t, "h1", "h2")
	s, err := f.run(v1.SweepRequest{})
	require.NoError(t, err)
	require.Equal(t, v1.SweepSummary{Hosts: 2, Orphaned: 2, SkippedLive: 18}, s.Summary)
	require.Equal(t, v1.SweepSucceeded, s.State)
	require.Equal(t, v1.Duration(v1.DefaultSweepGrace), s.Request.Grace)
	require.Empty(t, f.removed)
}

func TestOrphansAreRemovedOnEveryHost(t *testing.T) {
	f := full(t, "h1", "h2", "h3")
	s, err := f.run(deleting)
	require.NoError(t, err)
	require.Equal(t, "hosts=3 unreachable=0 orphaned=3 deleted=3 skipped-live=27 skipped-grace=0 unexplained=0 repaired=0 failed=0", s.Summary.String())
	require.ElementsMatch(t, []string{"ghost-h1", "ghost-h2", "ghost-h3"}, f.removed)
}

func TestHostsThatCannotBeReadAreNamedAndLeftAlone(t *testing.T) {
	f := full(t, "h1", "h2", "h3")
	f.ledgers["h1"] = contract.HostLedger{Host: "h1", State: v1.HostOffline}
	f.broken[contract.ActivityInventory] = "h2"
	s, err := f.run(deleting)
	require.NoError(t, err)
	require.Equal(t, v1.SweepSummary{Hosts: 3, Unreachable: 2, Orphaned: 1, Deleted: 1, SkippedLive: 9}, s.Summary)
	require.Equal(t, []string{"ghost-h3"}, f.removed)
	require.Len(t, s.Hosts, 2)
	require.Equal(t, "it is Offline", s.Hosts[0].Message)
	require.Contains(t, s.Hosts[1].Message, "does not answer")
}

func TestHostsThatAreNamedInVainFailTheRunAfterTheRest(t *testing.T) {
	f := full(t, "h1", "h2")
	f.ledgers["h1"] = contract.HostLedger{Host: "h1", State: v1.HostForgotten}
	f.unknown = []string{"h3"}
	request := deleting
	request.Hosts = []string{"h1", "h2", "h3"}
	s, err := f.run(request)
	require.Error(t, err)
	require.Equal(t, `host h1 was forgotten; there is no host "h3"`, s.Message)
	require.Equal(t, v1.SweepSummary{Hosts: 3, Unreachable: 2, Orphaned: 1, Deleted: 1, SkippedLive: 9}, s.Summary)
	require.Equal(t, []string{"ghost-h2"}, f.removed)
	require.Len(t, s.Hosts, 2)
	require.Equal(t, "h1", s.Hosts[0].Name)
	require.Equal(t, "h3", s.Hosts[1].Name)

	f.unknown = nil
	_, err = f.run(deleting)
	require.NoError(t, err, "nobody named it")
}

func TestIfTheFleetCannotBeReadWholeNothingIsRemoved(t *testing.T) {
	for _, broken := range []string{contract.ActivityFleetLedgers, contract.ActivityFleetWants} {
		f := full(t, "h1", "h2")
		f.broken[broken] = ""
		s, err := f.run(v1.SweepRequest{Delete: true, AllowMany: true})
		require.Error(t, err)
		require.Equal(t, v1.SweepFailed, s.State)
		require.Contains(t, s.Message, "could not be read whole")
		require.Empty(t, f.removed)
		require.Empty(t, f.repaired)
	}
}

func TestAFleetThatHasForgottenRemovesNothing(t *testing.T) {
	f := full(t, "h1", "h2")
	l := f.ledgers["h2"]
	l.Since = 5_001 // later than all fences on h2
	f.ledgers["h2"] = l
	s, err := f.run(v1.SweepRequest{Delete: true, AllowMany: true, Grace: deleting.Grace})
	require.Error(t, err)
	require.Contains(t, s.Message, "ghost-h2 on h2")
	require.Equal(t, v1.SweepSummary{Hosts: 2, Orphaned: 2, SkippedLive: 18}, s.Summary)
	require.Empty(t, f.removed)
}

func TestAFleetThatHasForgottenTellsWhatItsHostsHaveSeen(t *testing.T) {
	f := full(t, "h1")
	l := f.ledgers["h1"]
	l.Since = 5_001 // later than the ghost's fence
	f.ledgers["h1"] = l
	for i, name := range []string{"removed", "gone"} {
		f.wants[name] = contract.Want{Workload: name, Presence: contract.PresenceOpen, Kind: v1.KindContainer, Host: "h1", Fence: 6_000, Running: 2}
		f.things["h1"] = append(f.things["h1"], contract.Thing{
			Kind: contract.ThingRecord, Name: name, Workload: name, Fence: int64(6_001 - i), Tombstone: true, Age: time.Hour, Known: true,
		})
	}
	s, err := f.run(v1.SweepRequest{Delete: true, AllowMany: true, Grace: deleting.Grace})
	require.Error(t, err)
	require.Empty(t, f.removed)
	require.Len(t, f.repaired, 1, "of what else is missing the fleet may know too little")
	require.Equal(t, "removed", f.repaired[0].Workload)
	require.Equal(t, int64(6_001), f.repaired[0].Absent.Later)
	require.Contains(t, f.repaired[0].Absent.Message, "it was removed there since")
	require.Equal(t, 1, s.Summary.Repaired)
}

func TestAFailedRemovalFailsTheRunAfterTheRest(t *testing.T) {
	f := full(t, "h1", "h2")
	f.refuse["ghost-h1"] = "the engine refuses"
	s, err := f.run(deleting)
	require.Error(t, err)
	require.Equal(t, v1.SweepSummary{Hosts: 2, Orphaned: 2, Deleted: 1, SkippedLive: 18, Failed: 1}, s.Summary)
	require.Equal(t, []string{"ghost-h2"}, f.removed)
	require.Equal(t, v1.VerdictFailed, s.Things[0].Verdict)
	require.Equal(t, "the engine refuses", s.Things[0].Message)
}

func TestAHostThatGoesAwayBeforeItRemoves(t *testing.T) {
	f := full(t, "h1", "h2")
	f.broken[contract.ActivityDiscard] = "h1"
	s, err := f.run(deleting)
	require.Error(t, err)
	require.Equal(t, v1.SweepSummary{Hosts: 2, Orphaned: 2, Deleted: 1, SkippedLive: 18, Failed: 1}, s.Summary)
}

func TestWhatTurnsOutToBelongToSomebodyIsLive(t *testing.T) {
	f := full(t, "h1")
	f.refuse["ghost-h1"] = "kept"
	s, err := f.run(deleting)
	require.NoError(t, err)
	require.Equal(t, v1.SweepSummary{Hosts: 1, SkippedLive: 10}, s.Summary)
	require.Empty(t, s.Things)
}

func TestTooManyOnOneHostAreLeftThereAlone(t *testing.T) {
	f := full(t, "h1", "h2")
	f.things["h1"] = f.things["h1"][6:] // one of four
	s, err := f.run(deleting)
	require.Error(t, err)
	require.Equal(t, []string{"ghost-h2"}, f.removed)
	require.Equal(t, v1.SweepSummary{Hosts: 2, Orphaned: 2, Deleted: 1, SkippedLive: 12}, s.Summary)
	require.Contains(t, s.Message, "host h1: 1 of 4 things")

	f.removed = nil
	s, err = f.run(v1.SweepRequest{Delete: true, Grace: deleting.Grace, AllowMany: true})
	require.NoError(t, err)
	require.Equal(t, 2, s.Summary.Deleted)
}

func TestWhatIsAbsentIsToldAlsoInADryRun(t *testing.T) {
	f := full(t, "h1")
	f.things["h1"] = nil
	f.ledgers["h1"] = contract.HostLedger{
		Host: "h1", Instance: "h1", Online: true, State: v1.HostOnline,
		Reservations: []contract.Reservation{{Workload: "web-h1", Fence: 6_000, Bound: true}, {Workload: "gone", Fence: 5_000, Bound: true}},
	}
	s, err := f.run(v1.SweepRequest{})
	require.NoError(t, err)
	require.Equal(t, v1.SweepSummary{Hosts: 1, Repaired: 2}, s.Summary)
	require.Len(t, f.repaired, 2)
	require.Equal(t, int64(6_000), f.repaired[0].Absent.Fence)
	require.Equal(t, "gone", f.repaired[1].Release.Workload)
}

func TestThingsArePaged(t *testing.T) {
	f := full(t, "h1")
	f.things["h1"] = nil
	for i := range 250 {
		f.things["h1"] = append(f.things["h1"], thing(contract.ThingDisk, func(t *contract.Thing) { t.Name, t.Workload = fmt.Sprint(i), "ghost" }))
	}
	env := f.env()
	env.ExecuteWorkflow(Sweep, contract.SweepInput{})
	var first v1.Sweep
	require.NoError(t, env.GetWorkflowResult(&first))
	require.Equal(t, 250, first.Summary.Unexplained)
	require.Len(t, first.Things, v1.SweepThings)
	require.Equal(t, "100", first.NextPageToken)
	answer, err := env.QueryWorkflow(contract.QuerySweep, contract.SweepPage{Offset: 200, Limit: 100})
	require.NoError(t, err)
	var last v1.Sweep
	require.NoError(t, answer.Get(&last))
	require.Len(t, last.Things, 50)
	require.Equal(t, "249", last.Things[49].Name)
	require.Empty(t, last.NextPageToken)
}
