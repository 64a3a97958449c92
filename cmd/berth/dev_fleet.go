package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/berth-dev/berth/activities/deadline"
	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workers/config"
	"github.com/berth-dev/berth/workers/devserver"
)

const (
	childReadyWithin = time.Minute
	childStopWithin  = 20 * time.Second
	// devHost is what the hosts' names begin with.
	devHost = "host"
)

// devFleet is the processes of `berth dev`.
type devFleet struct {
	settings *devSettings
	// known are the names of all settings: the children get theirs as arguments, not from our environment.
	known    []string
	temporal *devserver.Server
	logger   *slog.Logger
	api      *client.Client
	children []*devserver.Child
}

// start starts the server, then guards and agents, and waits until the hosts are online.
func (d *devFleet) start(ctx context.Context) error {
	api, err := client.New(client.Options{Address: d.url()})
	if err != nil {
		return err
	}
	d.api = api
	s := d.settings
	common := []string{
		"--temporal-address", d.temporal.Address(), "--namespace", d.temporal.Namespace(), "--fleet", s.fleet,
		"--log-level", s.log.level, "--log-format", s.log.format,
	}
	common = append(common, s.timings.args()...)
	server := append([]string{"server", "--listen", s.listen, "--insecure-dev", "--plaintext-history", "--temporal-ui", d.temporal.UI()}, common...)
	if err := d.launch(ctx, "server", server, d.serverReady); err != nil {
		return err
	}
	if err := d.startHosts(ctx, common); err != nil {
		return err
	}
	data := fmt.Sprintf("# Made by `berth dev`: berth --config %s list\naddress: %s\n", s.clientFile(), d.url())
	if err := os.WriteFile(s.clientFile(), []byte(data), 0o644); err != nil {
		return fmt.Errorf("write the client's settings: %w", err)
	}
	return nil
}

// startHosts starts an agent for each host, or one for all if they are many and synthetic.
func (d *devFleet) startHosts(ctx context.Context, common []string) error {
	s := d.settings
	common = append(slices.Clone(common), s.host.args()...)
	dir := filepath.Join(s.dataDir, "hosts")
	if s.host.synthetic.on && s.hosts > ownProcess {
		args := append([]string{"agent", "--host-id", devHost, "--hosts", itoa(s.hosts), "--data-dir", dir}, common...)
		return d.launch(ctx, "hosts", args, d.allReady)
	}
	for n := range s.hosts {
		name := numbered(devHost, n+1)
		if !s.host.synthetic.on {
			if err := d.startGuard(ctx, name); err != nil {
				return err
			}
		}
		args := append([]string{"agent", "--host-id", name, "--data-dir", filepath.Join(dir, name)}, common...)
		if err := d.launch(ctx, name, args, func(ctx context.Context) error { return d.hostReady(ctx, name) }); err != nil {
			return err
		}
	}
	return nil
}

// startGuard starts a host's guard, and waits for its first sign of life, so that the agent finds it.
func (d *devFleet) startGuard(ctx context.Context, host string) error {
	s := d.settings
	args := []string{
		"guard", "--host-id", host, "--fleet", s.fleet, "--run-dir", s.host.runDir,
		"--log-level", s.log.level, "--log-format", s.log.format,
	}
	dir := deadline.DirOf(s.host.runDir, s.fleet, host)
	return d.launch(ctx, "guard-"+host, args, func(context.Context) error {
		if !dir.Guarded() {
			return errors.New("it has shown no sign of life")
		}
		return nil
	})
}

// launch starts our own program as a child.
func (d *devFleet) launch(ctx context.Context, name string, args []string, check func(context.Context) error) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find our own program: %w", err)
	}
	child := &devserver.Child{
		Name: name, Command: append([]string{self}, args...), Env: d.environment(),
		Log:   filepath.Join(d.settings.dataDir, "logs", name+".log"),
		Check: check, ReadyWithin: childReadyWithin, StopWithin: childStopWithin, Logger: d.logger,
	}
	if err := child.Start(ctx); err != nil {
		return err
	}
	d.children = append(d.children, child)
	return nil
}

// environment is ours without what would change the children's settings or lead them to another Temporal.
func (d *devFleet) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		setting := func(s string) bool { return config.EnvName(s) == name }
		return strings.HasPrefix(name, "TEMPORAL_") || name == config.EnvName("config") || slices.ContainsFunc(d.known, setting)
	})
	return append(env, "TEMPORAL_CONFIG_FILE="+os.DevNull, config.EnvName("config")+"="+os.DevNull)
}

func (d *devFleet) serverReady(ctx context.Context) error {
	health, err := d.api.Ready(ctx)
	if err != nil {
		return err
	}
	if !health.OK {
		return fmt.Errorf("the server is not ready: %v", health.Checks)
	}
	return nil
}

func (d *devFleet) hostReady(ctx context.Context, name string) error {
	host, err := d.api.Host(ctx, name)
	if err != nil {
		return err
	}
	if host.State != v1.HostOnline {
		return fmt.Errorf("the host is %s %s", host.State, host.Message)
	}
	return nil
}

// allReady counts the hosts that are online.
func (d *devFleet) allReady(ctx context.Context) error {
	list, err := hostsAll(ctx, d.api)
	if err != nil {
		return err
	}
	online := 0
	for _, h := range list.Items {
		if h.State == v1.HostOnline {
			online++
		}
	}
	if online < d.settings.hosts {
		return fmt.Errorf("%d of %d hosts are online", online, d.settings.hosts)
	}
	return nil
}

// numbered is the n-th of several hosts.
func numbered(prefix string, n int) string { return prefix + "-" + itoa(n) }

// left are the workloads that exist when the fleet is stopped.
func (d *devFleet) left() []string {
	if d.api == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	list, err := listAll(ctx, d.api, client.Filter{})
	if err != nil {
		d.logger.Warn("what is left on this machine cannot be listed", "error", err)
	}
	var names []string
	for _, view := range list.Items {
		name := fmt.Sprintf("%s %s, %s", view.Kind, view.Metadata.Name, view.Status.Phase)
		if view.Status.Host != "" {
			name += " on " + view.Status.Host
		}
		names = append(names, name)
	}
	return names
}

// stop ends the processes in the reverse order of their start.
func (d *devFleet) stop() {
	for _, child := range slices.Backward(d.children) {
		child.Stop()
	}
	d.temporal.Stop()
}

func (d *devFleet) url() string { return "http://" + d.settings.listen }

// announce says where everything is.
func (d *devFleet) announce(a *app) {
	s := d.settings
	fmt.Fprintf(a.out, `
Berth runs.
  API              %s
  Temporal Web UI  %s
  Data and logs    %s
Try:
  berth --config %s hosts
  berth --config %s apply -f examples/container-minimal.yaml --wait
Note: histories in Temporal are in plain text here, so that the Web UI can be read; secrets of workloads are too.
Ctrl-C ends all of it.
`, d.url(), d.temporal.UI(), s.dataDir, s.clientFile(), s.clientFile())
}
