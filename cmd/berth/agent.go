package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/fx"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workers/agent"
	"github.com/berth-dev/berth/workers/config"
	"github.com/berth-dev/berth/workers/temporal"
)

// agentSettings are the settings of `berth agent`.
type agentSettings struct {
	temporal temporalSettings
	log      logSettings
	timings  timingSettings
	host     hostSettings
	name     string
	dataDir  string
	fleet    string
}

// hostSettings are what `berth dev` passes on to its agents as well.
type hostSettings struct {
	labels       map[string]string
	cpus         string
	memory       string
	disk         string
	allowPaths   []string
	allowDevices []string
	creates      int
	dockerHost   string
	libvirtURI   string
	domainType   string
	stall        time.Duration
}

func agentCommand(a *app) *cobra.Command {
	var s agentSettings
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run workloads on this host",
		Long: "Run workloads on this host. The agent connects to Temporal and listens on nothing: a host behind NAT will do.\n" +
			"Docker and libvirt may come and go; the agent offers what is there.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context(), a) },
	}
	a.settings(cmd, s.temporal.define, s.log.define, s.timings.define, s.host.define, s.define)
	return cmd
}

func (s *agentSettings) define(f *pflag.FlagSet) {
	f.StringVar(&s.name, "host-id", defaultHost(), "id of this host in the fleet")
	f.StringVar(&s.dataDir, "data-dir", "/var/lib/berth", "directory of images, disks and records")
	f.StringVar(&s.fleet, "fleet", "berth", "id of the installation; marks all that is made on this host")
}

func (h *hostSettings) define(f *pflag.FlagSet) {
	f.StringToStringVar(&h.labels, "label", nil, "labels of this host, key=value")
	f.StringVar(&h.cpus, "cpus", "", "CPUs to offer, as 4 or 2500m (default: all)")
	f.StringVar(&h.memory, "memory", "", "memory to offer, as 16Gi (default: what the machine has, less a reserve)")
	f.StringVar(&h.disk, "disk", "", "disk space to offer, as 500Gi (default: what the data directory's disk has, less a reserve)")
	f.StringSliceVar(&h.allowPaths, "allow-path", nil, "prefixes of paths of this host that workloads may use")
	f.StringSliceVar(&h.allowDevices, "allow-device", nil, "devices of this host that containers may use")
	f.IntVar(&h.creates, "max-concurrent-creates", 4, "downloads and disk copies at once")
	f.StringVar(&h.dockerHost, "docker-host", "", "address of Docker (default: its usual socket)")
	f.StringVar(&h.libvirtURI, "libvirt-uri", "", "URI of libvirt (default: qemu:///system)")
	f.StringVar(&h.domainType, "domain-type", "", "kvm or qemu (default: kvm where the machine can)")
	f.DurationVar(&h.stall, "stall-timeout", time.Minute, "how long a download may make no progress")
}

// args are the settings as arguments of another berth process.
func (h *hostSettings) args() []string {
	var out []string
	add := func(name, value string) {
		if value != "" {
			out = append(out, "--"+name, value)
		}
	}
	for _, l := range sortedPairs(h.labels) {
		add("label", l)
	}
	add("cpus", h.cpus)
	add("memory", h.memory)
	add("disk", h.disk)
	add("allow-path", strings.Join(h.allowPaths, ","))
	add("allow-device", strings.Join(h.allowDevices, ","))
	add("docker-host", h.dockerHost)
	add("libvirt-uri", h.libvirtURI)
	add("domain-type", h.domainType)
	return append(out, "--max-concurrent-creates", itoa(h.creates), "--stall-timeout", h.stall.String())
}

// check notes mistakes, and returns the capacity that is set by hand.
func (h *hostSettings) check(m *config.Mistakes) v1.Amounts {
	var c v1.Amounts
	var err error
	if h.cpus != "" {
		c.CPUs, err = v1.ParseCPU(h.cpus)
		m.Check("cpus", err)
	}
	if h.memory != "" {
		c.Memory, err = v1.ParseBytes(h.memory)
		m.Check("memory", err)
	}
	if h.disk != "" {
		c.Disk, err = v1.ParseBytes(h.disk)
		m.Check("disk", err)
	}
	for _, p := range h.allowPaths {
		m.Require(strings.HasPrefix(p, "/"), "allow-path", "%q is not an absolute path", p)
	}
	for _, d := range h.allowDevices {
		m.Require(strings.HasPrefix(d, "/dev/"), "allow-device", "%q is not a path under /dev", d)
	}
	m.Require(h.creates > 0, "max-concurrent-creates", "must be at least 1")
	m.Require(h.stall > 0, "stall-timeout", "must be more than nothing")
	m.Require(h.domainType == "" || h.domainType == "kvm" || h.domainType == "qemu", "domain-type", "must be kvm or qemu")
	return c
}

func (s *agentSettings) run(ctx context.Context, a *app) error {
	var m config.Mistakes
	logger := s.log.logger(a.err, &m)
	s.timings.check(&m)
	amounts := s.host.check(&m)
	m.Require(v1.ValidateName(s.name) == nil, "host-id", "%q is not a name: lower case letters, digits and dashes, at most 63", s.name)
	m.Require(v1.ValidateName(s.fleet) == nil, "fleet", "%q is not a name: lower case letters, digits and dashes, at most 63", s.fleet)
	m.Require(s.dataDir != "", "data-dir", "is needed")
	if s.temporal.KeyFile != "" {
		_, err := temporal.LoadKeys(s.temporal.KeyFile)
		m.Check("key-file", err)
	}
	if err := m.Err(); err != nil {
		return err
	}
	s.temporal.Lazy = true
	return runApp(ctx, logger,
		fx.Supply(s.temporal.Options, agent.Config{
			Host: s.name, Fleet: s.fleet, DataDir: s.dataDir, Version: version, Labels: s.host.labels, Capacity: amounts,
			AllowPaths: s.host.allowPaths, AllowDevices: s.host.allowDevices, MaxConcurrentCreates: s.host.creates,
			DockerHost: s.host.dockerHost, LibvirtURI: s.host.libvirtURI, DomainType: s.host.domainType,
			StallTimeout: s.host.stall, Timings: s.timings.Timings,
		}),
		temporal.Module,
		agent.Module,
	)
}

// defaultHost is this machine's name, as far as it is a name in Berth's sense.
func defaultHost() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	short, _, _ := strings.Cut(strings.ToLower(name), ".")
	return short
}
