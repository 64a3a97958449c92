package docker

import (
	"encoding/json"
	"testing"
	"time"

	dc "github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/go-connections/nat"
	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/container"
	v1 "github.com/berth-dev/berth/api/v1"
)

func TestTranslate(t *testing.T) {
	config, host := translate(container.Create{
		Labels: map[string]string{"a": "b"},
		Spec: &v1.ContainerSpec{
			Common: v1.Common{StopGracePeriod: v1.Duration(1500 * time.Millisecond)},
			Image:  "img", Command: []string{"/bin/a"}, Args: []string{"b", "c"}, Env: map[string]string{"Z": "1", "A": "x=y"},
			WorkingDir: "/w", User: "7:8", Hostname: "hh", Init: true, StopSignal: "SIGINT",
			Ports: []v1.Port{
				{Container: 80, Host: 8080}, {Container: 80, Host: 8081, HostIP: "127.0.0.1"}, {Container: 53, Protocol: "udp"},
			},
			Resources:   v1.Resources{CPUs: 1500, Memory: 64 << 20, MemorySwap: -1, Pids: 9},
			HealthCheck: &v1.HealthCheck{Command: []string{"/bin/ok"}, Interval: v1.Duration(time.Second), StartPeriod: v1.Duration(time.Minute)},
		},
		Mounts:  []container.Mount{{Volume: "v", Target: "/v"}, {Path: "/srv", Target: "/p", ReadOnly: true}},
		Devices: []v1.Device{{Host: "/dev/null", Container: "/dev/zip", Permissions: "r"}},
	})
	grace, init, pids := 2, true, int64(9)
	require.Equal(t, &dc.Config{
		Image: "img", Entrypoint: []string{"/bin/a"}, Cmd: []string{"b", "c"}, Env: []string{"A=x=y", "Z=1"},
		Labels: map[string]string{"a": "b"}, WorkingDir: "/w", User: "7:8", Hostname: "hh", StopSignal: "SIGINT", StopTimeout: &grace,
		ExposedPorts: nat.PortSet{"80/tcp": {}, "53/udp": {}},
		Healthcheck: &dc.HealthConfig{
			Test: []string{"CMD", "/bin/ok"}, Interval: time.Second, Timeout: 10 * time.Second, StartPeriod: time.Minute, Retries: 3,
		},
	}, config)
	require.Equal(t, &dc.HostConfig{
		RestartPolicy: dc.RestartPolicy{Name: "no"}, Init: &init,
		PortBindings: nat.PortMap{
			"80/tcp": {{HostPort: "8080"}, {HostIP: "127.0.0.1", HostPort: "8081"}}, "53/udp": {{}},
		},
		Resources: dc.Resources{
			NanoCPUs: 15e8, Memory: 64 << 20, MemorySwap: -1, PidsLimit: &pids,
			Devices: []dc.DeviceMapping{{PathOnHost: "/dev/null", PathInContainer: "/dev/zip", CgroupPermissions: "r"}},
		},
		Mounts: []mount.Mount{
			{Type: mount.TypeVolume, Source: "v", Target: "/v"}, {Type: mount.TypeBind, Source: "/srv", Target: "/p", ReadOnly: true},
		},
	}, host)
}

// What a spec leaves out is the image's, or Docker's.
func TestTranslateLeavesOut(t *testing.T) {
	config, host := translate(container.Create{Spec: &v1.ContainerSpec{Image: "img"}})
	require.Nil(t, config.Entrypoint)
	require.Nil(t, config.Cmd)
	require.Nil(t, config.Healthcheck)
	require.Nil(t, config.StopTimeout)
	require.Nil(t, host.Init)
	require.Nil(t, host.PidsLimit)
	require.False(t, host.Privileged)
}

func TestPublished(t *testing.T) {
	require.Equal(t, []string{"127.0.0.1:81:80/tcp", "8080:80/tcp", "[::1]:82:80/tcp"}, published(nat.PortMap{
		"80/tcp": {
			{HostIP: "0.0.0.0", HostPort: "8080"},
			{HostIP: "::", HostPort: "8080"},
			{HostIP: "127.0.0.1", HostPort: "81"},
			{HostIP: "::1", HostPort: "82"},
		},
		"443/tcp": nil,
	}))
}

func TestStateOfAnEmptyAnswer(t *testing.T) {
	require.Equal(t, container.Container{}, stateOf(dc.InspectResponse{}))
	require.True(t, moment("0001-01-01T00:00:00Z").IsZero())
	require.True(t, moment("").IsZero())
	require.Equal(t, 2026, moment("2026-01-02T03:04:05.6Z").Year())
}

func FuzzStateOf(f *testing.F) {
	f.Add([]byte(`{"Id":"a","State":{"Status":"exited","FinishedAt":"x"},"NetworkSettings":{"Ports":{"80/tcp":[{}]},"Networks":{"n":null}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var i dc.InspectResponse
		if json.Unmarshal(data, &i) != nil {
			return
		}
		c := stateOf(i)
		if i.ContainerJSONBase != nil {
			require.Equal(t, i.ID, c.ID)
		}
	})
}
