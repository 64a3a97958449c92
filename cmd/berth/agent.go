package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/fx"

	"github.com/berth-dev/berth/activities/boot"
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
	hosts    int
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
	procFS       string
	runDir       string
	stall        time.Duration
	keepImages   time.Duration
	synthetic    syntheticSettings
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
	f.IntVar(&s.hosts, "hosts", 0, "with --synthetic: be this many hosts, the host id with -1, -2 and so on, each below the data directory")
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
	f.StringVar(&h.procFS, "procfs", boot.ProcFS, "where the host's proc filesystem is, by which its boots are told apart")
	f.StringVar(&h.runDir, "run-dir", defaultRunDir, "directory, on tmpfs, of what agent and guard tell each other")
	durationVar(f, &h.stall, "stall-timeout", time.Minute, "how long a download may make no progress")
	durationVar(f, &h.keepImages, "keep-images", 7*24*time.Hour,
		"how long a cached image is kept after its last use; sweeps may remove it then (0: for ever)")
	h.synthetic.define(f)
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
	add("procfs", h.procFS)
	add("run-dir", h.runDir)
	out = append(out, h.synthetic.args()...)
	return append(out, "--max-concurrent-creates", itoa(h.creates), "--stall-timeout", h.stall.String(),
		"--keep-images", h.keepImages.String())
}

// check notes mistakes, and returns the capacity that is set by hand.
func (h *hostSettings) check(m *config.Mistakes) v1.Amounts {
	var c v1.Amounts
	if h.cpus != "" {
		cpus, err := v1.ParseCPU(h.cpus)
		m.Check("cpus", err)
		m.Require(err != nil || cpus > 0, "cpus", "must be more than nothing")
		c.CPUs = cpus
	}
	c.Memory = sizeToOffer(m, "memory", h.memory)
	c.Disk = sizeToOffer(m, "disk", h.disk)
	m.Check("label", v1.ValidateLabels(h.labels))
	for _, p := range h.allowPaths {
		m.Require(strings.HasPrefix(p, "/"), "allow-path", "%q is not an absolute path", p)
	}
	for _, d := range h.allowDevices {
		m.Require(strings.HasPrefix(d, "/dev/"), "allow-device", "%q is not a path under /dev", d)
	}
	m.Require(h.creates > 0, "max-concurrent-creates", "must be at least 1")
	m.Require(strings.HasPrefix(h.procFS, "/"), "procfs", "%q is not an absolute path", h.procFS)
	m.Require(h.runDir != "", "run-dir", "is needed")
	m.Require(h.stall > 0, "stall-timeout", "must be more than nothing")
	m.Require(h.keepImages == 0 || h.keepImages >= time.Hour, "keep-images", "must be at least 1h, or 0 to keep all images for ever")
	h.synthetic.check(m)
	if h.synthetic.on {
		c = syntheticCapacity(c)
	}
	m.Require(h.domainType == "" || h.domainType == "kvm" || h.domainType == "qemu", "domain-type", "must be kvm or qemu")
	return c
}

// sizeToOffer reads a size of a host; nothing is left to the host itself to find out.
func sizeToOffer(m *config.Mistakes, setting, value string) v1.Bytes {
	if value == "" {
		return 0
	}
	size, err := v1.ParseBytes(value)
	m.Check(setting, err)
	m.Require(err != nil || size > 0, setting, "must be more than nothing")
	return size
}

func (s *agentSettings) run(ctx context.Context, a *app) error {
	var m config.Mistakes
	logger := s.log.logger(a.err, &m)
	s.timings.check(&m)
	amounts := s.host.check(&m)
	m.Require(v1.ValidateName(s.name) == nil, "host-id", "%q is not a name: lower case letters, digits and dashes, at most 63", s.name)
	m.Require(v1.ValidateName(s.fleet) == nil, "fleet", "%q is not a name: lower case letters, digits and dashes, at most 63", s.fleet)
	m.Require(s.dataDir != "", "data-dir", "is needed")
	m.Require(s.hosts == 0 || s.host.synthetic.on, "hosts", "is for --synthetic: a real host has an agent of its own")
	m.Require(s.hosts >= 0 && s.hosts <= maxSyntheticHosts, "hosts", "must be from 0 to %d", maxSyntheticHosts)
	if s.temporal.KeyFile != "" {
		_, err := temporal.LoadKeys(s.temporal.KeyFile)
		m.Check("key-file", err)
	}
	if err := m.Err(); err != nil {
		return err
	}
	s.temporal.Lazy = true
	return runApp(ctx, logger,
		fx.Supply(s.temporal.Options, s.configs(amounts)),
		temporal.Module,
		agent.Module,
	)
}

// configs are one for each host that this process is.
func (s *agentSettings) configs(amounts v1.Amounts) []agent.Config {
	one := agent.Config{
		Host: s.name, Fleet: s.fleet, DataDir: s.dataDir, RunDir: s.host.runDir, Version: version, Labels: s.host.labels, Capacity: amounts,
		AllowPaths: s.host.allowPaths, AllowDevices: s.host.allowDevices, MaxConcurrentCreates: s.host.creates,
		DockerHost: s.host.dockerHost, LibvirtURI: s.host.libvirtURI, DomainType: s.host.domainType,
		StallTimeout: s.host.stall, KeepImages: s.host.keepImages, ProcFS: s.host.procFS, Synthetic: s.host.synthetic.config(), Timings: s.timings.Timings,
	}
	if s.hosts == 0 {
		return []agent.Config{one}
	}
	all := make([]agent.Config, 0, s.hosts)
	for n := range s.hosts {
		each := one
		each.Host = numbered(s.name, n+1)
		each.DataDir = filepath.Join(s.dataDir, each.Host)
		all = append(all, each)
	}
	return all
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
