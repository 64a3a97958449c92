package container_test

import (
	"testing"

	dc "github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/volume"
	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/container"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// What a user made from an image that was committed from a container, or copied with its labels, is the user's.
func TestCopiedLabelsMakeNothingBerths(t *testing.T) {
	h := newHost(t)
	spec := sleeper()
	spec.Volumes = []v1.Mount{{Name: "data", Target: "/data"}}
	in := request(spec, 1, 10)
	id := h.deploy(in).RuntimeID
	labels := h.inspect(id).Config.Labels
	labels[container.LabelFence] = "99" // found first
	own := "berth." + h.fleet + ".h1.web"
	var copies []string
	for _, name := range []string{h.fleet + "-copy", own + ".copy"} {
		made, err := h.cl.ContainerCreate(t.Context(), &dc.Config{
			Image: busybox, Labels: labels, Entrypoint: []string{"/bin/sh", "-c", "while :; do busybox sleep 1; done"},
		}, nil, nil, nil, name)
		require.NoError(t, err)
		require.NoError(t, h.cl.ContainerStart(t.Context(), made.ID, dc.StartOptions{}))
		copies = append(copies, made.ID)
	}
	_, err := h.cl.VolumeCreate(t.Context(), volume.CreateOptions{Name: h.fleet + "-copy", Labels: labels})
	require.NoError(t, err)

	require.Equal(t, []string{h.inspect(id).NetworkSettings.Networks["bridge"].IPAddress}, h.observe("web").Addresses, "the copies say nothing of the workload")
	for name, thing := range h.listed(contract.ThingContainer) {
		require.Equal(t, name != own, thing.Odd != "", name)
	}

	out := h.must(contract.StepRemove, verb(in, v1.VerbRemove, 11))
	require.Equal(t, []string{own + ".data"}, out.Kept)
	in = request(spec, 1, 20)
	require.NotContains(t, copies, h.deploy(in).RuntimeID, "it is made anew")
	gone := verb(in, v1.VerbRemove, 21)
	gone.Volumes = true
	h.must(contract.StepRemove, gone)
	for _, id := range copies {
		require.True(t, h.inspect(id).State.Running)
	}
	require.Len(t, h.containers(), len(copies))
	left := h.volumes()
	require.Len(t, left, 1)
	require.Equal(t, h.fleet+"-copy", left[0].Name)
}
