package e2e

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// contender is a workload that wants what only one can have.
type contender struct {
	name     string
	priority int
	applied  time.Time
}

func contenderOf(i int) contender { return contender{name: fmt.Sprintf("c%02d", i), priority: i % 4} }

func (c contender) spec(f *harness.Fleet, want string) *v1.Workload {
	return f.Parse(fmt.Sprintf("apiVersion: berth/v1\nkind: Container\nmetadata: {name: %s}\nspec:\n  image: none\n  priority: %d\n  %s\n",
		c.name, c.priority, want))
}

// TestTheLastSlot lets many callers race for what only one can have: one gets it, the rest say what was short and are woken
// in turn, highest priority first, then oldest. Hosts run in memory here: the race is for the ledger.
func TestTheLastSlot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want, short string
		callers           int
		reason            v1.Reason
	}{
		{"memory", "resources: {memory: 200Mi}", "memory short by 100Mi", 50, v1.ReasonNoCapacity},
		{"a port", "ports: [{container: 80, host: 8080}]", "port 8080/tcp is reserved by", 12, v1.ReasonPortConflict},
		{"a device", "devices: [{host: /dev/fuse}]", "device /dev/fuse is reserved by", 12, v1.ReasonNoCapacity},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := harness.NewFleet(t, harness.Synthetic())
			f.StartServer(pace...)
			f.StartAgent(hostName, append(pace, "--synthetic", "--memory", "300Mi", "--lease", "1m")...) // nobody is lost here
			f.AwaitHost(hostName, soon, v1.HostOnline)
			applyTogether(t, f, c.callers, c.want)
			holder, waiting := awaitRefused(t, f, c.callers, c.reason, c.short)
			dry, err := f.Client().Put(t.Context(), contenderOf(c.callers).spec(f, c.want), true, client.Change{})
			require.NoError(t, err)
			require.Empty(t, dry.Host, "a dry run knows what the ledger knows")
			require.Contains(t, dry.Refusals[0], c.short)
			for len(waiting) > 0 {
				remove(t, f, holder)
				holder, waiting = waiting[0].name, waiting[1:]
				f.AwaitPhase(holder, long, v1.PhaseRunning)
				requireAlone(t, f, waiting)
			}
			remove(t, f, holder)
			harness.Eventually(t, func() bool {
				h, err := f.Client().Host(t.Context(), hostName)
				return err == nil && h.Workloads == 0 && h.Reserved == v1.Amounts{}
			}, soon, poll, "the ledger is empty in the end")
		})
	}
}

// applyTogether has as many callers apply a contender each, at the same moment.
func applyTogether(t *testing.T, f *harness.Fleet, callers int, want string) {
	t.Helper()
	errs := make([]error, callers)
	specs := make([]*v1.Workload, callers)
	for i := range specs {
		specs[i] = contenderOf(i).spec(f, want)
	}
	clients := make([]*client.Client, callers)
	for i := range clients {
		clients[i] = f.Client()
	}
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			<-start
			_, errs[i] = clients[i].Put(t.Context(), specs[i], false, client.Change{})
		})
	}
	close(start)
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}

// awaitRefused waits until one contender runs and all others were refused, and returns it and them, in the order in which
// they must be woken.
func awaitRefused(t *testing.T, f *harness.Fleet, callers int, reason v1.Reason, short string) (string, []contender) {
	t.Helper()
	holder := ""
	var waiting []contender
	for i := range callers {
		c := contenderOf(i)
		v := f.AwaitWorkload(c.name, long, "it runs or waits", func(v v1.View) bool {
			return v.Status.Phase == v1.PhaseRunning ||
				v.Status.Phase == v1.PhasePending && v.Status.Reason == reason && strings.Contains(v.Status.Message, short)
		})
		if v.Status.Phase == v1.PhaseRunning {
			require.Empty(t, holder, "two have the last slot")
			holder = c.name
			continue
		}
		c.applied = v.Status.CreatedAt
		waiting = append(waiting, c)
	}
	require.NotEmpty(t, holder)
	slices.SortFunc(waiting, func(a, b contender) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), a.applied.Compare(b.applied), cmp.Compare(a.name, b.name))
	})
	requireAlone(t, f, waiting)
	return holder, waiting
}

// requireAlone fails unless the host has given what is wanted to one only. Who waits and runs nevertheless would show here,
// and who runs before its turn would leave no room for the one whose turn it is.
func requireAlone(t *testing.T, f *harness.Fleet, waiting []contender) {
	t.Helper()
	harness.Eventually(t, func() bool {
		h, err := f.Client().Host(t.Context(), hostName)
		return err == nil && h.Workloads == 1
	}, soon, poll)
	if len(waiting) > 0 {
		require.Zero(t, f.Workload(waiting[0].name).Status.RunningGeneration)
	}
}
