package container_test

import (
	"path/filepath"
	"testing"
	"time"

	dc "github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/volume"
	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/container"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestANewWorkloadTakesTheKeptVolumeAgain(t *testing.T) {
	allowed := t.TempDir()
	h := newHost(t, func(c *container.Config) { c.AllowPaths = []string{allowed} })
	write := shell(`echo kept >/data/mark; echo ready; while :; do busybox sleep 0.1; done`)
	write.Volumes = []v1.Mount{{Name: "data", Target: "/data"}, {Bind: allowed, Target: "/own"}}
	in := request(write, 1, 10)
	h.deploy(in)
	require.Eventually(t, func() bool { return h.said("web", "ready") }, 2*time.Minute, 20*time.Millisecond)
	out := h.must(contract.StepRemove, verb(in, v1.VerbRemove, 11))
	require.Equal(t, []string{"berth." + h.fleet + ".h1.web.data", allowed}, out.Kept)

	read := shell(`busybox cat /data/mark; while :; do busybox sleep 0.1; done`)
	read.Volumes = []v1.Mount{{Name: "data", Target: "/data"}}
	again := request(read, 1, 20)
	h.deploy(again)
	require.Eventually(t, func() bool { return h.said("web", "kept") }, 2*time.Minute, 20*time.Millisecond)

	again.Volumes = true
	out = h.must(contract.StepRemove, verb(again, v1.VerbRemove, 21))
	require.Empty(t, out.Kept)
	require.Empty(t, h.volumes(), "asked to, a remove takes the volumes too")
	require.FileExists(t, filepath.Join(h.store.Dir("web"), "record.json"), "the tombstone")
}

// A volume that an image declares and the spec does not name holds nothing that anybody could find again.
func TestUnnamedVolumesGoWithTheirContainer(t *testing.T) {
	h := newHost(t)
	made, err := h.cl.ContainerCreate(t.Context(), &dc.Config{Image: busybox, Cmd: []string{"/bin/sh"}}, nil, nil, nil, "")
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.cl.ContainerRemove(t.Context(), made.ID, dc.RemoveOptions{Force: true}) })
	ref := "berth-test-" + h.fleet + ":latest"
	_, err = h.cl.ContainerCommit(t.Context(), made.ID, dc.CommitOptions{Reference: ref, Changes: []string{"VOLUME /scratch"}})
	require.NoError(t, err)
	require.NoError(t, h.cl.ContainerRemove(t.Context(), made.ID, dc.RemoveOptions{}))

	spec := sleeper()
	spec.Image = ref
	in := request(spec, 1, 10)
	id := h.deploy(in).RuntimeID
	mounts := h.inspect(id).Mounts
	require.Len(t, mounts, 1)
	h.must(contract.StepRemove, verb(in, v1.VerbRemove, 11))
	list, err := h.cl.VolumeList(t.Context(), volume.ListOptions{Filters: filters.NewArgs(filters.Arg("name", mounts[0].Name))})
	require.NoError(t, err)
	require.Empty(t, list.Volumes)
	_, err = h.cl.ImageRemove(t.Context(), ref, image.RemoveOptions{})
	require.NoError(t, err)
}
