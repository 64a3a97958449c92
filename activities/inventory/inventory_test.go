package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"github.com/berth-dev/berth/activities/inventory"
	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	"github.com/berth-dev/berth/activities/synthetic"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// host is a synthetic host with real records.
type host struct {
	t     *testing.T
	dir   string
	store *record.Store
	rt    *synthetic.Runtime
	all   *inventory.Activities
}

func newHost(t *testing.T, more ...inventory.Source) *host {
	t.Helper()
	h := &host{t: t, dir: t.TempDir()}
	var err error
	h.store, err = record.Open(h.dir, "f", "h1")
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	runner := step.NewRunner(h.store, log)
	t.Cleanup(func() {
		runner.Stop(context.Background())
		require.NoError(t, h.store.Close())
	})
	h.rt = synthetic.New(v1.KindContainer, "h1", synthetic.Config{})
	h.all = &inventory.Activities{
		Host: "h1", Store: h.store, Runner: runner, Log: log, Rewound: func() time.Time { return time.UnixMilli(77) },
		Sources: append([]inventory.Source{inventory.Records{Store: h.store}, h.rt}, more...),
	}
	return h
}

func (h *host) env() *testsuite.TestActivityEnvironment {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(h.all.Inventory, activity.RegisterOptions{Name: contract.ActivityInventory})
	env.RegisterActivityWithOptions(h.all.Discard, activity.RegisterOptions{Name: contract.ActivityDiscard})
	for s := range h.rt.Steps() {
		env.RegisterActivityWithOptions(h.all.Runner.Activity(h.rt, s), activity.RegisterOptions{Name: contract.ActivityName(v1.KindContainer, s)})
	}
	return env
}

// deploy runs a workload.
func (h *host) deploy(name string, fence int64) {
	h.t.Helper()
	in := contract.StepIn{Last: true, Ref: contract.Ref{Workload: name, Kind: v1.KindContainer, Generation: 1, Fence: fence}}
	in.Spec = v1.Workload{
		APIVersion: v1.APIVersion, Kind: v1.KindContainer, Metadata: v1.Metadata{Name: name}, Container: &v1.ContainerSpec{Image: "x"},
	}
	_, err := h.env().ExecuteActivity(contract.ActivityName(v1.KindContainer, contract.StepStart), in)
	require.NoError(h.t, err)
}

func (h *host) page(after string, limit int) contract.InventoryOut {
	h.t.Helper()
	value, err := h.env().ExecuteActivity(contract.ActivityInventory, contract.InventoryIn{After: after, Limit: limit})
	require.NoError(h.t, err)
	var out contract.InventoryOut
	require.NoError(h.t, value.Get(&out))
	return out
}

func (h *host) discard(orphans ...contract.Orphan) []contract.Fate {
	h.t.Helper()
	value, err := h.env().ExecuteActivity(contract.ActivityDiscard, contract.DiscardIn{Orphans: orphans})
	require.NoError(h.t, err)
	var out contract.DiscardOut
	require.NoError(h.t, value.Get(&out))
	return out.Fates
}

// find returns a thing from the whole inventory.
func (h *host) find(kind contract.ThingKind, workload string) (contract.Thing, bool) {
	h.t.Helper()
	for _, t := range h.page("", 1_000).Things {
		if t.Kind == kind && t.Workload == workload {
			return t, true
		}
	}
	return contract.Thing{}, false
}

func (h *host) orphan(kind contract.ThingKind, workload string) contract.Orphan {
	h.t.Helper()
	t, ok := h.find(kind, workload)
	require.True(h.t, ok)
	rec, err := h.store.Get(workload)
	require.NoError(h.t, err)
	return contract.Orphan{Thing: t, Record: rec.Fence, Proven: true}
}

func TestPages(t *testing.T) {
	h := newHost(t)
	for i := range 7 {
		h.deploy(fmt.Sprintf("w%d", i), int64(i+1))
	}
	var all []contract.Thing
	pages := 0
	for after := ""; ; {
		out := h.page(after, 5)
		pages++
		require.LessOrEqual(t, len(out.Things), 5)
		require.Equal(t, int64(77), out.Rewound)
		all = append(all, out.Things...)
		if after = out.Next; after == "" {
			break
		}
	}
	require.Equal(t, 3, pages)
	require.Len(t, all, 14)
	for i := range 7 {
		require.Equal(t, contract.ThingContainer, all[i].Kind)
		require.Equal(t, fmt.Sprintf("w%d", i), all[i].Workload)
		require.Equal(t, contract.ThingRecord, all[7+i].Kind)
		require.Equal(t, int64(i+1), all[7+i].Fence)
		require.True(t, all[7+i].Known)
	}
}

// broken is a source whose runtime does not answer.
type broken struct{ inventory.Source }

func (broken) Kinds() []contract.ThingKind { return []contract.ThingKind{contract.ThingDisk} }

func (broken) Inventory(context.Context, contract.ThingKind) ([]contract.Thing, error) {
	return nil, contract.Retryable(v1.ReasonRuntimeUnavailable, "", "it does not answer").WithCause(errors.New("secret"))
}

func TestWhatCannotBeListedIsNamed(t *testing.T) {
	h := newHost(t, broken{})
	h.deploy("web", 1)
	out := h.page("", 10)
	require.Len(t, out.Things, 2)
	require.Equal(t, map[contract.ThingKind]string{contract.ThingDisk: "it does not answer"}, out.Unread)
}

func TestARecordThatCannotBeReadKeepsItsThings(t *testing.T) {
	h := newHost(t)
	h.deploy("web", 1)
	require.NoError(t, h.store.Close())
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, "workloads", "web", "record.json"), []byte("{"), 0o600))
	var err error
	h.store, err = record.Open(h.dir, "f", "h1")
	require.NoError(t, err)
	h.all.Store, h.all.Runner = h.store, step.NewRunner(h.store, h.all.Log)
	h.all.Sources[0] = inventory.Records{Store: h.store}
	for _, kind := range []contract.ThingKind{contract.ThingContainer, contract.ThingRecord} {
		thing, ok := h.find(kind, "web")
		require.True(t, ok)
		require.NotEmpty(t, thing.Odd)
	}
	fates := h.discard(contract.Orphan{Thing: contract.Thing{Kind: contract.ThingContainer, Name: "web", Workload: "web"}})
	require.NotEmpty(t, fates[0].Failed)
}

func TestOrphansAreLookedAtAgain(t *testing.T) {
	h := newHost(t)
	h.deploy("web", 5)
	orphan := h.orphan(contract.ThingContainer, "web")
	for name, change := range map[string]func(*contract.Orphan){
		"within the grace":    func(o *contract.Orphan) { o.Grace = time.Hour },
		"another fence":       func(o *contract.Orphan) { o.Thing.Fence = 4 },
		"another generation":  func(o *contract.Orphan) { o.Thing.Generation = 2 },
		"another one":         func(o *contract.Orphan) { o.Thing.ID = "x" },
		"worked on since":     func(o *contract.Orphan) { o.Record = 4 },
		"there was no record": func(o *contract.Orphan) { o.Record = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			changed := orphan
			change(&changed)
			fates := h.discard(changed)
			require.NotEmpty(t, fates[0].Kept)
			_, there := h.find(contract.ThingContainer, "web")
			require.True(t, there)
		})
	}
	unlock, err := h.store.Lock(t.Context(), "web", time.Second)
	require.NoError(t, err)
	require.Contains(t, h.discard(orphan)[0].Kept, "at work")
	unlock()

	require.Equal(t, []contract.Fate{{}, {Failed: `Internal: this host knows no things of kind "disk"`}},
		h.discard(orphan, contract.Orphan{Thing: contract.Thing{Kind: contract.ThingDisk}}), "one failure keeps nobody up")
	_, there := h.find(contract.ThingContainer, "web")
	require.False(t, there)
	require.Equal(t, []contract.Fate{{}}, h.discard(orphan), "a repeat finds it gone")
}

func TestARecordBecomesATombstone(t *testing.T) {
	h := newHost(t)
	h.deploy("web", 5)
	require.Equal(t, []contract.Fate{{}}, h.discard(h.orphan(contract.ThingRecord, "web")))
	rec, err := h.store.Get("web")
	require.NoError(t, err)
	require.True(t, rec.Tombstone())
	require.Nil(t, rec.Spec)
	require.Equal(t, record.WantedRemoved, rec.Wanted)
	_, err = rec.Admit(contract.StepIn{Ref: contract.Ref{Fence: 5}}, contract.StepStart)
	require.Equal(t, v1.ReasonStaleFence, contract.ReasonOf(err), "late work is still refused")
	thing, ok := h.find(contract.ThingRecord, "web")
	require.True(t, ok)
	require.True(t, thing.Tombstone)
}

// volumes is a source with one volume that notes whether it was removed.
type volumes struct {
	thing   contract.Thing
	removed bool
}

func (*volumes) Kinds() []contract.ThingKind { return []contract.ThingKind{contract.ThingVolume} }

func (v *volumes) Inventory(context.Context, contract.ThingKind) ([]contract.Thing, error) {
	return []contract.Thing{v.thing}, nil
}

func (v *volumes) Discard(context.Context, *step.Call, contract.Orphan) (string, error) {
	v.removed = true
	return "", nil
}

func TestAVolumeGoesOnlyIfItWasToGo(t *testing.T) {
	for name, c := range map[string]struct {
		dropped, fence int64
		proven, gone   bool
	}{
		"kept by the remove":          {fence: 5},
		"removed with its volumes":    {dropped: 6, fence: 5, gone: true},
		"made after a remove of them": {dropped: 4, fence: 5},
		"kept, but a debt says to go": {fence: 5, proven: true, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			v := &volumes{thing: contract.Thing{Kind: contract.ThingVolume, Name: "v", Workload: "web", Fence: c.fence}}
			h := newHost(t, v)
			require.NoError(t, h.store.Put(record.Record{
				Fleet: "f", Host: "h1", Workload: "web", Fence: 6, DropVolumes: c.dropped, RemovedAt: time.Now(),
			}))
			thing, ok := h.find(contract.ThingVolume, "web")
			require.True(t, ok)
			require.Equal(t, !c.gone || c.proven, thing.Kept)
			fates := h.discard(contract.Orphan{Thing: thing, Record: 6, Proven: c.proven})
			require.Equal(t, c.gone, v.removed)
			require.Equal(t, c.gone, fates[0].Kept == "")
		})
	}
}
