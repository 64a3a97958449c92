package container_test

import (
	"context"
	"testing"
	"time"

	dc "github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// listed are the things of a kind, by name.
func (h *host) listed(kind contract.ThingKind) map[string]contract.Thing {
	h.t.Helper()
	all, err := h.rt.Inventory(h.t.Context(), kind)
	require.NoError(h.t, err)
	byName := map[string]contract.Thing{}
	for _, t := range all {
		byName[t.Name] = t
	}
	return byName
}

func (h *host) discard(o contract.Orphan) (string, error) {
	return h.runner.Discard(h.t.Context(), o, func(ctx context.Context, c *step.Call) (string, error) { return h.rt.Discard(ctx, c, o) })
}

func TestInventory(t *testing.T) {
	h, other := newHost(t), newHost(t)
	spec := sleeper()
	spec.Volumes = []v1.Mount{{Name: "data", Target: "/data"}}
	id := h.deploy(request(spec, 3, 10)).RuntimeID
	other.deploy(request(sleeper(), 1, 10))
	name := "berth." + h.fleet + ".h1.web"
	labels := h.inspect(id).Config.Labels
	copied, err := h.cl.ContainerCreate(t.Context(), &dc.Config{Image: busybox, Cmd: []string{"/bin/sh"}, Labels: labels}, nil, nil, nil, h.fleet+"-copy")
	require.NoError(t, err)
	net, err := h.cl.NetworkCreate(t.Context(), name+".net", network.CreateOptions{Labels: labels})
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.cl.NetworkRemove(context.WithoutCancel(t.Context()), net.ID) })

	found := h.listed(contract.ThingContainer)
	require.Len(t, found, 2, "another fleet's are not seen")
	own := found[name]
	require.Equal(t, id, own.ID)
	require.Equal(t, "web", own.Workload)
	require.Equal(t, []int64{3, 10}, []int64{own.Generation, own.Fence})
	require.True(t, own.Known)
	require.Less(t, own.Age, time.Minute)
	require.Empty(t, own.Odd)
	require.Contains(t, found[h.fleet+"-copy"].Odd, "not the name")
	volume := h.listed(contract.ThingVolume)[name+".data"]
	require.Equal(t, "web", volume.Workload)
	require.True(t, volume.Known)
	networked := h.listed(contract.ThingNetwork)[name+".net"]
	require.Equal(t, net.ID, networked.ID)

	kept, err := h.discard(contract.Orphan{Thing: own, Record: 10, Grace: time.Hour})
	require.NoError(t, err)
	require.Contains(t, kept, "younger")
	h.must(contract.StepStop, verb(request(spec, 3, 10), v1.VerbStop, 11))
	kept, err = h.discard(contract.Orphan{Thing: own, Record: 10})
	require.NoError(t, err)
	require.Contains(t, kept, "worked on since")
	odd := found[h.fleet+"-copy"]
	odd.Odd = ""
	kept, err = h.discard(contract.Orphan{Thing: odd, Record: 11})
	require.NoError(t, err)
	require.Contains(t, kept, "not the name", "the host looks again")

	_, err = h.discard(contract.Orphan{Thing: volume, Record: 11})
	require.Equal(t, v1.ReasonRuntimeError, contract.ReasonOf(err), "the engine refuses: a container uses it")
	for _, thing := range []contract.Thing{own, volume, networked} {
		kept, err = h.discard(contract.Orphan{Thing: thing, Record: 11})
		require.NoError(t, err)
		require.Empty(t, kept)
		kept, err = h.discard(contract.Orphan{Thing: thing, Record: 11})
		require.NoError(t, err, "what is gone is gone")
		require.Empty(t, kept)
	}
	require.Len(t, h.containers(), 1, "only the copy is left")
	require.Equal(t, copied.ID, h.containers()[0].ID)
	require.Empty(t, h.volumes())
	require.Empty(t, h.listed(contract.ThingNetwork))
}
