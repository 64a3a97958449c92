package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/berth-dev/berth"
	"github.com/berth-dev/berth/api/rest"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workers/config"
	"github.com/berth-dev/berth/workers/devserver"
)

const (
	// maxDevHosts bounds --hosts: each is a process.
	maxDevHosts = 50
	// ownProcess is up to how many synthetic hosts each are a process, as real ones are. More share one.
	ownProcess = 10
)

// uiPortAbove is how far the Web UI's port is above Temporal's own, as the Temporal CLI has it.
const uiPortAbove = 1000

// devSettings are the settings of `berth dev`.
type devSettings struct {
	log            logSettings
	timings        timingSettings
	host           hostSettings
	dataDir        string
	fleet          string
	listen         string
	hosts          int
	temporalPort   int
	uiPort         int
	temporalBin    string
	temporalConfig string
}

func devCommand(a *app) *cobra.Command {
	var s devSettings
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a whole fleet on this machine",
		Long: "Run a whole fleet on this machine: a Temporal development server with its database in the data directory, a\n" +
			"server, agents and guards, each a process of its own. Ctrl-C ends them all; workloads run on, and a later `berth dev`\n" +
			"with the same data directory goes on with them. Not for production: nobody is asked for a token.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context(), a) },
	}
	a.settings(cmd, s.log.define, s.timings.define, s.host.define, s.define)
	return cmd
}

func (s *devSettings) define(f *pflag.FlagSet) {
	f.StringVar(&s.dataDir, "data-dir", "/var/lib/berth/dev", "directory of everything: Temporal's database, images, disks, logs")
	f.StringVar(&s.fleet, "fleet", "dev", "id of the installation; marks all that is made on this machine")
	f.StringVar(&s.listen, "listen", "127.0.0.1:8080", "address of the API, on loopback")
	f.IntVar(&s.hosts, "hosts", 1, "how many agents to run, host-1 and so on")
	f.IntVar(&s.temporalPort, "temporal-port", 7233, "port of Temporal")
	f.IntVar(&s.uiPort, "temporal-ui-port", 0, "port of Temporal's Web UI (default: that of Temporal and 1000)")
	f.StringVar(&s.temporalBin, "temporal-bin", "", "the Temporal CLI (default: the one beside berth, then in PATH)")
	f.StringVar(&s.temporalConfig, "temporal-config", "", "settings of Temporal (default: temporal-dev.yaml as built in)")
}

// ui is the port of Temporal's Web UI.
func (s *devSettings) ui() int {
	if s.uiPort != 0 {
		return s.uiPort
	}
	return s.temporalPort + uiPortAbove
}

// check notes mistakes, and returns Temporal's settings and program.
func (s *devSettings) check(m *config.Mistakes) (devserver.Settings, string) {
	s.timings.check(m)
	s.host.check(m)
	m.Require(v1.ValidateName(s.fleet) == nil, "fleet", "%q is not a name", s.fleet)
	most := maxDevHosts
	if s.host.synthetic.on {
		most = maxSyntheticHosts
	}
	m.Require(s.hosts >= 0 && s.hosts <= most, "hosts", "must be from 0 to %d", most)
	m.Require(rest.ListensOnLoopback(s.listen), "listen", "must be an address of the loopback, as 127.0.0.1:8080")
	if host, port, err := net.SplitHostPort(s.listen); err == nil {
		n, err := strconv.Atoi(port)
		m.Check("listen", errors.Join(err, devserver.CheckPort(host, n, "the API")))
		m.Require(n != s.temporalPort, "listen", "has the port of Temporal, %d", n)
		m.Require(n != s.ui(), "listen", "has the port of Temporal's Web UI, %d: choose another, or another --temporal-ui-port", n)
	}
	m.Require(s.temporalPort != s.ui(), "temporal-ui-port", "is the port of Temporal itself, %d", s.temporalPort)
	data := berth.TemporalDev
	if s.temporalConfig != "" {
		var err error
		data, err = os.ReadFile(s.temporalConfig)
		m.Check("temporal-config", err)
	}
	settings, err := devserver.ParseSettings(data)
	m.Check("temporal-config", err)
	binary, err := devserver.FindBinary(s.temporalBin)
	m.Check("temporal-bin", err)
	return settings, binary
}

func (s *devSettings) run(ctx context.Context, a *app) error {
	var m config.Mistakes
	logger := s.log.logger(a.err, &m)
	settings, binary := s.check(&m)
	if err := m.Err(); err != nil {
		return err
	}
	unlock, err := s.prepareDir()
	if err != nil {
		return err
	}
	defer unlock()
	fmt.Fprintln(a.err, "starting Temporal …")
	temporal, err := devserver.Start(ctx, devserver.Config{
		Settings: settings, Binary: binary, DataDir: filepath.Join(s.dataDir, "temporal"), IP: "127.0.0.1",
		Port: s.temporalPort, UIPort: s.ui(), Logger: logger,
	})
	if err != nil {
		return err
	}
	fleet := &devFleet{settings: s, known: a.known, temporal: temporal, logger: logger}
	err = fleet.start(ctx)
	if err == nil {
		fleet.announce(a)
		<-ctx.Done()
	}
	fmt.Fprintln(a.err, "\nstopping …")
	left := fleet.left()
	fleet.stop()
	if ctx.Err() == nil {
		return err // what was asked to end is no failure, even in the middle of the start
	}
	s.farewell(a, left)
	return nil
}

// prepareDir makes the data directory and takes hold of it: two fleets in one would ruin each other.
func (s *devSettings) prepareDir() (unlock func(), err error) {
	if s.dataDir, err = filepath.Abs(s.dataDir); err != nil {
		return nil, err
	}
	// 0711: QEMU runs as another user and passes through to the disks.
	if err := os.MkdirAll(filepath.Join(s.dataDir, "hosts"), 0o711); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	for dir, mode := range map[string]os.FileMode{"temporal": 0o700, "logs": 0o750} {
		if err := os.MkdirAll(filepath.Join(s.dataDir, dir), mode); err != nil {
			return nil, fmt.Errorf("make the data directory: %w", err)
		}
	}
	lock, err := os.OpenFile(filepath.Join(s.dataDir, "dev.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = errors.New("another `berth dev` uses it: stop that, or name another --data-dir")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the data directory %s: %w", s.dataDir, err), lock.Close())
	}
	// The lock ends with the process at the latest; a failure to close it has no effect.
	return func() { _ = lock.Close() }, nil
}

// farewell says what is left on the machine, and how to remove it.
func (s *devSettings) farewell(a *app, left []string) {
	again := strings.Join(os.Args, " ")
	if len(left) > 0 {
		fmt.Fprintf(a.err, "\nLeft on this machine, and running on as far as it ran:\n")
		for _, name := range left {
			fmt.Fprintln(a.err, "  "+name)
		}
		fmt.Fprintf(a.err, "To remove one: `%s` again, then `berth --config %s delete NAME --wait`.\n", again, s.clientFile())
	} else {
		fmt.Fprintln(a.err, "\nNo workload is left on this machine.")
	}
	fmt.Fprintf(a.err, "Images, records and histories are kept in %s; once no workload is left, remove the directory.\n", s.dataDir)
	fmt.Fprintf(a.err, "To go on: %s\n", again)
}

func (s *devSettings) clientFile() string { return filepath.Join(s.dataDir, "client.yaml") }
