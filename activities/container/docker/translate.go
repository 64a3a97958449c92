package docker

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	dc "github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/go-connections/nat"

	"github.com/berth-dev/berth/activities/container"
	v1 "github.com/berth-dev/berth/api/v1"
)

// The defaults of a health check, as the spec's documentation has them.
const (
	healthInterval = 10 * time.Second
	healthTimeout  = 10 * time.Second
	healthRetries  = 3
)

// translate turns what to make into Docker's words. Docker never restarts a container by itself.
func translate(c container.Create) (*dc.Config, *dc.HostConfig) {
	s := c.Spec
	config := &dc.Config{
		Image: s.Image, Entrypoint: s.Command, Cmd: s.Args, Env: environment(s.Env), Labels: c.Labels,
		WorkingDir: s.WorkingDir, User: s.User, Hostname: s.Hostname, StopSignal: s.StopSignal,
		Healthcheck: healthCheck(s.HealthCheck),
	}
	if s.StopGracePeriod > 0 {
		config.StopTimeout = ptr(seconds(s.StopGracePeriod.D()))
	}
	config.ExposedPorts = nat.PortSet{}
	host := &dc.HostConfig{
		RestartPolicy: dc.RestartPolicy{Name: dc.RestartPolicyDisabled},
		PortBindings:  nat.PortMap{},
		Resources:     resources(s.Resources),
	}
	if s.Init {
		host.Init = ptr(true)
	}
	for _, p := range s.Ports {
		protocol := p.Protocol
		if protocol == "" {
			protocol = "tcp"
		}
		port := nat.Port(fmt.Sprintf("%d/%s", p.Container, protocol))
		binding := nat.PortBinding{HostIP: p.HostIP}
		if p.Host != 0 {
			binding.HostPort = strconv.Itoa(p.Host)
		}
		config.ExposedPorts[port] = struct{}{}
		host.PortBindings[port] = append(host.PortBindings[port], binding)
	}
	for _, m := range c.Mounts {
		host.Mounts = append(host.Mounts, mountOf(m))
	}
	for _, d := range c.Devices {
		host.Devices = append(host.Devices, dc.DeviceMapping{
			PathOnHost: d.Host, PathInContainer: d.Container, CgroupPermissions: d.Permissions,
		})
	}
	return config, host
}

func resources(r v1.Resources) dc.Resources {
	out := dc.Resources{NanoCPUs: int64(r.CPUs) * 1e6, Memory: int64(r.Memory), MemorySwap: int64(r.MemorySwap)}
	if r.Pids > 0 {
		out.PidsLimit = ptr(r.Pids)
	}
	return out
}

func mountOf(m container.Mount) mount.Mount {
	if m.Volume != "" {
		return mount.Mount{Type: mount.TypeVolume, Source: m.Volume, Target: m.Target, ReadOnly: m.ReadOnly}
	}
	return mount.Mount{Type: mount.TypeBind, Source: m.Path, Target: m.Target, ReadOnly: m.ReadOnly}
}

func healthCheck(h *v1.HealthCheck) *dc.HealthConfig {
	if h == nil {
		return nil
	}
	out := &dc.HealthConfig{
		Test: append([]string{"CMD"}, h.Command...), Interval: h.Interval.D(), Timeout: h.Timeout.D(),
		StartPeriod: h.StartPeriod.D(), Retries: h.Retries,
	}
	if out.Interval == 0 {
		out.Interval = healthInterval
	}
	if out.Timeout == 0 {
		out.Timeout = healthTimeout
	}
	if out.Retries == 0 {
		out.Retries = healthRetries
	}
	return out
}

func environment(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for _, key := range slices.Sorted(maps.Keys(env)) {
		list = append(list, key+"="+env[key])
	}
	return list
}

// seconds rounds up, so that a grace is never shorter than asked for.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

func ptr[T any](v T) *T { return &v }
