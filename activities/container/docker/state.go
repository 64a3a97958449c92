package docker

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	dc "github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/go-connections/nat"

	"github.com/berth-dev/berth/activities/container"
)

// stateOf turns what Docker says about a container into our words.
func stateOf(i dc.InspectResponse) container.Container {
	c := container.Container{}
	if i.ContainerJSONBase != nil {
		c.ID, c.Name = i.ID, strings.TrimPrefix(i.Name, "/")
	}
	if i.Config != nil {
		c.Labels = i.Config.Labels
		if t := i.Config.StopTimeout; t != nil {
			c.StopGrace = time.Duration(*t) * time.Second
		}
	}
	if i.ContainerJSONBase != nil && i.State != nil {
		c.Status = statusOf(i.State.Status)
		c.StartedAt, c.FinishedAt = moment(i.State.StartedAt), moment(i.State.FinishedAt)
		c.PID = i.State.Pid
		c.ExitCode, c.OutOfMemory, c.Error = i.State.ExitCode, i.State.OOMKilled, i.State.Error
		c.Health, c.HealthOutput = healthOf(i.State.Health)
	}
	if i.ContainerJSONBase != nil && i.HostConfig != nil {
		for _, d := range i.HostConfig.Devices {
			c.Devices = append(c.Devices, d.PathOnHost)
		}
	}
	for _, m := range i.Mounts {
		if m.Type == mount.TypeBind {
			c.Binds = append(c.Binds, m.Source)
		}
	}
	if n := i.NetworkSettings; n != nil {
		for _, endpoint := range n.Networks {
			if endpoint == nil {
				continue
			}
			for _, ip := range []string{endpoint.IPAddress, endpoint.GlobalIPv6Address} {
				if ip != "" {
					c.Addresses = append(c.Addresses, ip)
				}
			}
		}
		if i.ContainerJSONBase != nil && i.HostConfig != nil && c.Runs() {
			c.Cut = cutOff(i.HostConfig.NetworkMode, n.Networks)
		}
		slices.Sort(c.Addresses)
		c.Ports = published(n.Ports)
	}
	return c
}

// cutOff is the network that a container was made for, if it is not on it. The engine's own default has no fixed name.
func cutOff(mode dc.NetworkMode, on map[string]*network.EndpointSettings) string {
	switch {
	case mode.IsNone() || mode.IsHost() || mode.IsContainer():
		return ""
	case mode.IsDefault() && len(on) == 0:
		return network.NetworkBridge
	case mode.IsDefault() || on[mode.NetworkName()] != nil:
		return ""
	default:
		return mode.NetworkName()
	}
}

func statusOf(s string) container.Status {
	switch s {
	case dc.StateCreated:
		return container.StatusCreated
	case dc.StateRunning, dc.StateRestarting:
		return container.StatusRunning
	case dc.StatePaused:
		return container.StatusPaused
	case dc.StateExited:
		return container.StatusExited
	default: // removing, dead
		return container.StatusGone
	}
}

func healthOf(h *dc.Health) (container.Health, string) {
	if h == nil {
		return container.HealthNone, ""
	}
	said := ""
	if n := len(h.Log); n > 0 {
		said = h.Log[n-1].Output
	}
	switch h.Status {
	case dc.Starting:
		return container.HealthStarting, said
	case dc.Healthy:
		return container.HealthHealthy, said
	case dc.Unhealthy:
		return container.HealthUnhealthy, said
	default:
		return container.HealthNone, said
	}
}

// published lists ports as "8080:80/tcp", with the host's address in front if it is not all of them.
func published(ports nat.PortMap) []string {
	var list []string
	for port, bindings := range ports {
		for _, b := range bindings {
			from := b.HostPort
			if ip := net.ParseIP(b.HostIP); ip != nil && !ip.IsUnspecified() {
				from = net.JoinHostPort(b.HostIP, b.HostPort)
			}
			list = append(list, fmt.Sprintf("%s:%s", from, port))
		}
	}
	slices.Sort(list)
	return slices.Compact(list) // IPv4 and IPv6 are listed apart
}

// moment is zero for Docker's "0001-01-01T00:00:00Z", and for what is no time.
func moment(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(s))
	if err != nil || t.Year() <= 1 {
		return time.Time{}
	}
	return t
}
