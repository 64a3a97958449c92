package v1

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestValidateContainer(t *testing.T) {
	set := func(f func(c *ContainerSpec)) func(*Workload) { return func(w *Workload) { f(w.Container) } }
	runInvalid(t, minimalContainer, []invalid{
		{"no image", set(func(c *ContainerSpec) { c.Image = "" }), "spec.image: is required"},
		{"pull", set(func(c *ContainerSpec) { c.Pull = "Always" }), "spec.pull: must be one of missing, always, never: did you mean always?"},
		{"empty program", set(func(c *ContainerSpec) { c.Command = []string{""} }), "spec.command[0]: must name a program"},
		{"NUL in args", set(func(c *ContainerSpec) { c.Args = []string{"a", "b\x00"} }), "spec.args[1]: must not hold a NUL"},
		{"many args", set(func(c *ContainerSpec) { c.Args = make([]string, 257) }), "spec.args: at most 256, not 257"},
		{"large args", set(func(c *ContainerSpec) { c.Args = []string{strings.Repeat("x", 33<<10)} }), "spec.args: takes"},
		{"env key", set(func(c *ContainerSpec) { c.Env = map[string]string{"A=B": ""} }), `spec.env: the key "A=B"`},
		{"empty env key", set(func(c *ContainerSpec) { c.Env = map[string]string{"": ""} }), `spec.env: the key ""`},
		{"NUL in env", set(func(c *ContainerSpec) { c.Env = map[string]string{"A": "\x00"} }), "spec.env.A: must not hold a NUL"},
		{"large env", set(func(c *ContainerSpec) { c.Env = map[string]string{"A": strings.Repeat("x", 65<<10)} }), "spec.env: takes"},
		{"many env", set(func(c *ContainerSpec) { c.Env = numbered(257, "") }), "spec.env: at most 256"},
		{"working directory", set(func(c *ContainerSpec) { c.WorkingDir = "srv" }), "spec.workingDir: must be an absolute path"},
		{"user", set(func(c *ContainerSpec) { c.User = "a b" }), "spec.user: must be a user"},
		{"group", set(func(c *ContainerSpec) { c.User = "a:" }), "spec.user: must be a user"},
		{"hostname", set(func(c *ContainerSpec) { c.Hostname = "a..b" }), "spec.hostname: must be a host name"},
		{"long hostname", set(func(c *ContainerSpec) { c.Hostname = strings.Repeat("a.", 40) + "a" }), "spec.hostname: must be a host name"},
		{"signal", set(func(c *ContainerSpec) { c.StopSignal = "SIGFOO" }), "spec.stopSignal: must be a signal"},
		{"own label", set(func(c *ContainerSpec) { c.Labels = map[string]string{"berth.fence": "1"} }), `spec.labels["berth.fence"]: the prefix`},
		{"label key", set(func(c *ContainerSpec) { c.Labels = map[string]string{"a=b": "1"} }), `spec.labels: the key "a=b"`},
		{"label value", set(func(c *ContainerSpec) { c.Labels = map[string]string{"a": "\x1b"} }), "spec.labels.a: must be text"},
	})
}

func TestValidatePorts(t *testing.T) {
	ports := func(p ...Port) func(*Workload) { return func(w *Workload) { w.Container.Ports = p } }
	runInvalid(t, minimalContainer, []invalid{
		{"zero", ports(Port{}), "spec.ports[0].container: must be from 1 to 65535"},
		{"too high", ports(Port{Container: 1, Host: 65536}), "spec.ports[0].host: must be from 0 to 65535"},
		{"negative", ports(Port{Container: 1, Host: -1}), "spec.ports[0].host: must be from 0 to 65535"},
		{"protocol", ports(Port{Container: 1, Protocol: "TCP"}), "spec.ports[0].protocol: must be one of tcp, udp, sctp: did you mean tcp?"},
		{"address", ports(Port{Container: 1, HostIP: "localhost"}), "spec.ports[0].hostIP: must be an IP address"},
		{"zone", ports(Port{Container: 1, HostIP: "fe80::1%eth0"}), "spec.ports[0].hostIP: must be an IP address"},
		{"twice", ports(Port{Container: 1, Host: 80}, Port{Container: 2, Host: 80}), "spec.ports[1].host: port 80/tcp of the host is taken by spec.ports[0]"},
		{"all and one", ports(Port{Container: 1, Host: 80, HostIP: "127.0.0.1"}, Port{Container: 2, Host: 80, HostIP: "0.0.0.0"}), "is taken by spec.ports[0]"},
		{"same address", ports(Port{Container: 1, Host: 80, HostIP: "::1"}, Port{Container: 2, Host: 80, HostIP: "0:0::1"}), "is taken by spec.ports[0]"},
		{"chosen twice", ports(Port{Container: 1}, Port{Container: 1, Protocol: "tcp"}), "spec.ports[1]: is the same as spec.ports[0]"},
		{"many", ports(make([]Port, 129)...), "spec.ports: at most 128"},
	})
	w := minimalContainer()
	w.Container.Ports = []Port{
		{Container: 80, Host: 80, HostIP: "127.0.0.1"},
		{Container: 80, Host: 80, HostIP: "127.0.0.2"},
		{Container: 80, Host: 80, Protocol: "udp"},
		{Container: 80, Host: 81},
		{Container: 80},
	}
	require.NoError(t, w.Validate())
}

func TestValidateMountsAndDevices(t *testing.T) {
	mounts := func(m ...Mount) func(*Workload) { return func(w *Workload) { w.Container.Volumes = m } }
	devices := func(d ...Device) func(*Workload) { return func(w *Workload) { w.Container.Devices = d } }
	runInvalid(t, minimalContainer, []invalid{
		{"neither", mounts(Mount{Target: "/a"}), "spec.volumes[0]: exactly one of name and bind"},
		{"both", mounts(Mount{Name: "a", Bind: "/a", Target: "/a"}), "spec.volumes[0]: exactly one of name and bind"},
		{"name", mounts(Mount{Name: "A", Target: "/a"}), "spec.volumes[0].name: must be"},
		{"relative bind", mounts(Mount{Bind: "a", Target: "/a"}), "spec.volumes[0].bind: must be an absolute path"},
		{"climbing bind", mounts(Mount{Bind: "/srv/../etc", Target: "/a"}), "spec.volumes[0].bind: must be a path without"},
		{"bind with NUL", mounts(Mount{Bind: "/a\x00", Target: "/a"}), "spec.volumes[0].bind: must be UTF-8"},
		{"no target", mounts(Mount{Name: "a"}), "spec.volumes[0].target: is required"},
		{"climbing target", mounts(Mount{Name: "a", Target: "/a/../b"}), "spec.volumes[0].target: must be a path without"},
		{"target with slash", mounts(Mount{Name: "a", Target: "/a/"}), "spec.volumes[0].target: must be a path without"},
		{"root", mounts(Mount{Name: "a", Target: "/"}), "spec.volumes[0].target: must not be the container's root"},
		{"same target", mounts(Mount{Name: "a", Target: "/a"}, Mount{Name: "b", Target: "/a"}), "spec.volumes[1].target: is the same as spec.volumes[0].target"},
		{"device", devices(Device{Host: "null"}), "spec.devices[0].host: must be an absolute path"},
		{"no device", devices(Device{}), "spec.devices[0].host: is required"},
		{"outside /dev", devices(Device{Host: "/etc/passwd"}), "spec.devices[0].host: must be a path under /dev"},
		{"inside", devices(Device{Host: "/dev/a", Container: "/dev/../b"}), "spec.devices[0].container: must be a path without"},
		{"permissions", devices(Device{Host: "/dev/a", Permissions: "rr"}), "spec.devices[0].permissions"},
		{"same inside", devices(Device{Host: "/dev/a"}, Device{Host: "/dev/b", Container: "/dev/a"}), "spec.devices[1].container: is the same as"},
	})
	w := minimalContainer()
	mounts(Mount{Name: "a", Target: "/a"}, Mount{Name: "a", Target: "/b"})(w)
	require.NoError(t, w.Validate(), "one volume may be mounted twice")
}

func TestValidateResourcesAndHealth(t *testing.T) {
	resources := func(r Resources) func(*Workload) { return func(w *Workload) { w.Container.Resources = r } }
	health := func(h HealthCheck) func(*Workload) { return func(w *Workload) { w.Container.HealthCheck = &h } }
	check := []string{"true"}
	runInvalid(t, minimalContainer, []invalid{
		{"cpus", resources(Resources{CPUs: -1}), "spec.resources.cpus: must be from 10m to 1024"},
		{"few cpus", resources(Resources{CPUs: 9}), "spec.resources.cpus: must be from 10m to 1024"},
		{"memory", resources(Resources{Memory: 1 << 20}), "spec.resources.memory: must be from 6Mi to 64Ti"},
		{"negative memory", resources(Resources{Memory: -1}), "spec.resources.memory: must be from 6Mi"},
		{"swap alone", resources(Resources{MemorySwap: -1}), "spec.resources.memorySwap: only together with memory"},
		{"small swap", resources(Resources{Memory: 64 << 20, MemorySwap: 32 << 20}), "spec.resources.memorySwap: must be at least the memory (64Mi)"},
		{"negative swap", resources(Resources{Memory: 64 << 20, MemorySwap: -2}), "spec.resources.memorySwap: must be at least"},
		{"pids", resources(Resources{Pids: -1}), "spec.resources.pids: must be from 0"},
		{"no command", health(HealthCheck{}), "spec.healthCheck.command: is required"},
		{"interval", health(HealthCheck{Command: check, Interval: 5}), "spec.healthCheck.interval: must be from 100ms"},
		{"timeout", health(HealthCheck{Command: check, Timeout: -1}), "spec.healthCheck.timeout: must be from 100ms"},
		{"start period", health(HealthCheck{Command: check, StartPeriod: -1}), "spec.healthCheck.startPeriod: must be from 0s"},
		{"retries", health(HealthCheck{Command: check, Retries: -1}), "spec.healthCheck.retries: must be from 1"},
		{"never ready", health(HealthCheck{Command: check, ReadyTimeout: Duration(10 * time.Second)}), "spec.healthCheck.readyTimeout: must be longer than the interval of 10s"},
	})
}

func TestImageReferences(t *testing.T) {
	hex64 := strings.Repeat("0a", 32)
	for _, image := range []string{
		"nginx", "nginx:1.27", "berth-demo-container:latest", "library/nginx", "a/b/c_d/e__f/g-h:T.a-g_1", "localhost:5000/a",
		"registry.example.com/team/app@sha256:" + hex64, "a:1@sha256:" + hex64, "[::1]:5000/a", "Example.COM/a", hex64, "sha256:" + hex64,
	} {
		w := minimalContainer()
		w.Container.Image = image
		require.NoError(t, w.Validate(), image)
	}
	for _, image := range []string{
		"Nginx", "nginx:", ":tag", "a b", "-a", "a//b", "/a", "a/", "https://a/b", "a@sha256:12", "a:" + strings.Repeat("t", 129),
		"a\n", "$(id)", "a_/b", strings.Repeat("a", 513), "a;b", "--privileged",
	} {
		w := minimalContainer()
		w.Container.Image = image
		texts := fieldErrors(t, w.Validate())
		require.Len(t, texts, 1, image)
		require.True(t, strings.HasPrefix(texts[0], "spec.image: "), texts[0])
	}
}

func TestSignals(t *testing.T) {
	for _, s := range []string{"TERM", "SIGTERM", "15", "1", "64", "SIGRTMIN", "RTMIN+3", "SIGRTMAX-1"} {
		require.True(t, isSignal(s), s)
	}
	for _, s := range []string{"", "0", "65", "-1", "term", "SIG", "SIGSIGTERM", "RTMIN+", "RTMIN+99", "RTMIN++1", "TERM "} {
		require.False(t, isSignal(s), s)
	}
}
