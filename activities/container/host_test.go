package container_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	dc "github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/volume"
	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/container"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// What a container gets of its host is what was allowed, and stays so.
func TestBindOnTheEngine(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	data, secret := filepath.Join(dir, "srv", "data"), filepath.Join(dir, "secret")
	require.NoError(t, os.MkdirAll(data, 0o755))
	require.NoError(t, os.Mkdir(secret, 0o700))
	h := newHost(t, func(c *container.Config) { c.AllowPaths = []string{filepath.Join(dir, "srv")} })
	spec := shell(`trap 'exit 0' TERM; echo written >/data/file; while :; do busybox sleep 0.1; done`)
	spec.Volumes = []v1.Mount{{Bind: data, Target: "/data"}}
	in := request(spec, 1, 10)
	h.deploy(in)
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(data, "file")); return err == nil }, 2*time.Minute, 20*time.Millisecond)
	h.must(contract.StepStop, verb(in, v1.VerbStop, 11))

	require.NoError(t, os.RemoveAll(data))
	require.NoError(t, os.Symlink(secret, data))
	_, failure := h.do(contract.StepStart, verb(in, v1.VerbStart, 12))
	require.NotNil(t, failure)
	require.Equal(t, v1.ReasonPolicyDenied, failure.Reason)
	_, failure = h.as(restarting{h.rt}, contract.StepStart, verb(in, v1.VerbStart, 12))
	require.NotNil(t, failure)
	require.Equal(t, v1.ReasonPolicyDenied, failure.Reason)
	left, err := os.ReadDir(secret)
	require.NoError(t, err)
	require.Empty(t, left)

	h.must(contract.StepRemove, verb(in, v1.VerbRemove, 13))
	require.DirExists(t, secret, "what was bound is the user's")
}

func TestPrepareDeniesBeforeAnythingRuns(t *testing.T) {
	h := newHost(t)
	spec := sleeper()
	spec.Image = "127.0.0.1:1/never:1" // it is not even looked for
	spec.Pull = v1.PullAlways
	spec.Volumes = []v1.Mount{{Bind: "/etc", Target: "/data"}}
	_, failure := h.do(contract.StepPrepare, request(spec, 1, 10))
	require.NotNil(t, failure)
	require.Equal(t, v1.ReasonPolicyDenied, failure.Reason)
	require.True(t, failure.Permanent)
}

func TestForeignVolumeIsLeftAlone(t *testing.T) {
	h := newHost(t)
	name := "berth." + h.fleet + ".h1.web.data"
	_, err := h.cl.VolumeCreate(t.Context(), volume.CreateOptions{Name: name})
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.cl.VolumeRemove(context.Background(), name, true) })
	spec := sleeper()
	spec.Volumes = []v1.Mount{{Name: "data", Target: "/data"}}
	in := request(spec, 1, 10)
	_, failure := h.do(contract.StepStart, in)
	require.NotNil(t, failure)
	require.Equal(t, v1.ReasonPolicyDenied, failure.Reason)
	h.must(contract.StepRemove, verb(in, v1.VerbRemove, 11))
	_, err = h.cl.VolumeInspect(t.Context(), name)
	require.NoError(t, err)
}

func TestLimitsOnTheEngine(t *testing.T) {
	h := newHost(t, func(c *container.Config) { c.AllowDevices = []string{"/dev/null"} })
	spec := sleeper()
	spec.User, spec.Hostname, spec.Init, spec.StopSignal = "65534:65534", "inside", true, "SIGTERM"
	spec.Resources = v1.Resources{CPUs: 500, Memory: 64 << 20, MemorySwap: 64 << 20, Pids: 20}
	spec.Devices = []v1.Device{{Host: "/dev/null", Container: "/dev/zip", Permissions: "r"}}
	out := h.deploy(request(spec, 1, 10))
	i := h.inspect(out.RuntimeID)
	require.Equal(t, int64(5e8), i.HostConfig.NanoCPUs)
	require.Equal(t, int64(64<<20), i.HostConfig.Memory)
	require.Equal(t, int64(64<<20), i.HostConfig.MemorySwap)
	require.Equal(t, int64(20), *i.HostConfig.PidsLimit)
	require.Equal(t, []dc.DeviceMapping{{PathOnHost: "/dev/null", PathInContainer: "/dev/zip", CgroupPermissions: "r"}}, i.HostConfig.Devices)
	require.True(t, *i.HostConfig.Init)
	require.Equal(t, "inside", i.Config.Hostname)
	require.False(t, i.HostConfig.Privileged)
}
