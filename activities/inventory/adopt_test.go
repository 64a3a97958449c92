package inventory_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

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

// lose removes a workload's record while the agent is away.
func (h *host) lose(workload string) {
	h.t.Helper()
	require.NoError(h.t, h.store.Close())
	require.NoError(h.t, os.Remove(filepath.Join(h.dir, "workloads", workload, "record.json")))
	var err error
	h.store, err = record.Open(h.dir, "f", "h1")
	require.NoError(h.t, err)
	h.all.Store, h.all.Runner = h.store, step.NewRunner(h.store, slog.New(slog.DiscardHandler))
	h.t.Cleanup(func() { h.all.Runner.Stop(context.Background()) })
}

func (h *host) adopt(workload string, generation, fence int64, attempt int) *contract.Error {
	h.t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(h.all.Adopt, activity.RegisterOptions{Name: contract.ActivityAdopt})
	_, err := env.ExecuteActivity(contract.ActivityAdopt, contract.StepIn{
		Ref: contract.Ref{Workload: workload, Kind: v1.KindContainer, Generation: generation, Fence: fence, Attempt: attempt, Verb: v1.VerbDeploy},
		Spec: v1.Workload{
			APIVersion: v1.APIVersion, Kind: v1.KindContainer, Metadata: v1.Metadata{Name: workload}, Container: &v1.ContainerSpec{Image: "x"},
		},
	})
	return contract.FromActivityError(err)
}

func (h *host) record(workload string) record.Record {
	h.t.Helper()
	rec, err := h.store.Get(workload)
	require.NoError(h.t, err)
	return rec
}

func TestALostRecordIsWrittenAgainForWhatRuns(t *testing.T) {
	h := newHost(t)
	h.deploy("web", 7)
	h.deploy("other", 8)
	lost := h.record("web")
	h.lose("web")
	things, err := h.all.Unrecorded(t.Context())
	require.NoError(t, err)
	require.Len(t, things, 1)
	require.Equal(t, "web", things[0].Workload)

	for workload, marked := range map[string]int64{"web": 7, "other": 8, "never": 0} {
		fence, err := h.all.Marked(t.Context(), v1.KindContainer, workload)
		require.NoError(t, err)
		require.Equal(t, marked, fence, workload)
	}

	for name, refused := range map[string]*contract.Error{
		"another generation":       h.adopt("web", 2, 7, 0),
		"a fence before its mark":  h.adopt("web", 1, 6, 0),
		"an attempt, which is not": h.adopt("web", 1, 9, 1),
	} {
		require.NotNil(t, refused, name)
		require.Zero(t, h.record("web").Fence, name)
	}
	require.Nil(t, h.adopt("web", 1, 9, 0), "later actions kept it")
	now := h.record("web")
	require.EqualValues(t, 9, now.Fence)
	require.False(t, now.Open)
	require.Equal(t, lost.Wanted, now.Wanted)
	require.Equal(t, lost.RuntimeID, now.RuntimeID)
	require.Equal(t, lost.Spec.Container, now.Spec.Container)
	things, err = h.all.Unrecorded(t.Context())
	require.NoError(t, err)
	require.Empty(t, things)

	require.Nil(t, h.adopt("web", 1, 12, 0))
	require.Equal(t, now, h.record("web"), "a record that is there stays as it is")
}

// What does not run could be started because of a record: it gets none.
func TestALostRecordIsNotWrittenForWhatDoesNotRun(t *testing.T) {
	h := newHost(t)
	h.deploy("web", 7)
	_, err := h.env().ExecuteActivity("container.Stop", contract.StepIn{
		Last: true, Ref: contract.Ref{Workload: "web", Kind: v1.KindContainer, Generation: 1, Fence: 8},
	})
	require.NoError(t, err)
	h.lose("web")
	require.NotNil(t, h.adopt("web", 1, 8, 0))
	require.NotNil(t, h.adopt("never", 1, 8, 0))
	require.Empty(t, h.store.List())
}

// copier is a host on which somebody has made a container with the labels of another workload's.
type copier struct {
	*synthetic.Runtime
	copied contract.Thing
}

func (c copier) Inventory(ctx context.Context, kind contract.ThingKind) ([]contract.Thing, error) {
	things, err := c.Runtime.Inventory(ctx, kind)
	if kind == c.copied.Kind {
		things = append(things, c.copied)
	}
	return things, err
}

// What a user made with copied labels says nothing of the workload: else its later fence would spare what a debt is to remove.
func TestCopiedMarksTellNothingOfAWorkload(t *testing.T) {
	h := newHost(t)
	h.deploy("web", 7)
	h.lose("web")
	h.all.Sources = []inventory.Source{copier{h.rt, contract.Thing{
		Kind: contract.ThingContainer, Name: "mine", Workload: "web", Generation: 9, Fence: 99, Odd: "it has another name",
	}}}
	fence, err := h.all.Marked(t.Context(), v1.KindContainer, "web")
	require.NoError(t, err)
	require.EqualValues(t, 7, fence)
	things, err := h.all.Unrecorded(t.Context())
	require.NoError(t, err)
	require.Len(t, things, 1)
	require.EqualValues(t, 7, things[0].Fence)
}
