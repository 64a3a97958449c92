package agent

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"go.temporal.io/sdk/client"

	"github.com/berth-dev/berth/activities/boot"
	"github.com/berth-dev/berth/activities/container"
	"github.com/berth-dev/berth/activities/container/docker"
	"github.com/berth-dev/berth/activities/deadline"
	"github.com/berth-dev/berth/activities/image"
	"github.com/berth-dev/berth/activities/inventory"
	"github.com/berth-dev/berth/activities/lease"
	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	"github.com/berth-dev/berth/activities/strict"
	"github.com/berth-dev/berth/activities/supervise"
	"github.com/berth-dev/berth/activities/synthetic"
	"github.com/berth-dev/berth/activities/vm"
	"github.com/berth-dev/berth/activities/vm/libvirt"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// New takes hold of the data directory and connects the drivers, lazily: a runtime that is down, and Temporal, may come
// later. It polls nothing before Run.
func New(cfg Config, c client.Client, log *slog.Logger) (*Agent, error) {
	if cfg.MaxConcurrentCreates <= 0 {
		cfg.MaxConcurrentCreates = 4
	}
	dir, err := filepath.Abs(cfg.DataDir)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	cfg.DataDir = dir
	// 0711: QEMU runs as another user and passes through to the disks, whose names it is told.
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if cfg.ProcFS == "" {
		cfg.ProcFS = boot.ProcFS
	}
	log = log.With("host", cfg.Host)
	a := &Agent{cfg: cfg, client: c, log: log, boot: boot.Read(cfg.ProcFS), holder: lease.NewHolder(c, log)}
	var options []record.Option
	if cfg.Synthetic != nil {
		options = append(options, record.Volatile())
	}
	if a.store, err = record.Open(dir, cfg.Fleet, cfg.Host, options...); err != nil {
		return nil, err
	}
	a.cleanup = append(a.cleanup, a.store.Close)
	if err := claim(dir, cfg.Fleet, cfg.Host); err != nil {
		return nil, err
	}
	if a.instance, err = instanceID(dir); err != nil {
		return nil, err
	}
	a.admitted = admittedInBoot(dir, a.boot.ID)
	if a.memory, err = openMemory(dir); err != nil {
		return nil, err
	}
	a.inventory = &inventory.Activities{Host: cfg.Host, Store: a.store, Rewound: a.memory.rewound, Log: log}
	if err := a.connectRuntimes(); err != nil {
		return nil, err
	}
	a.runner = step.NewRunner(a.store, log)
	a.inventory.Runner = a.runner
	a.inventory.Sources = append(a.inventory.Sources, inventory.Records{Store: a.store})
	for _, rt := range a.runtimes {
		if source, ok := rt.(inventory.Source); ok {
			a.inventory.Sources = append(a.inventory.Sources, source)
		}
	}
	supervising := supervise.Config{
		Host: cfg.Host, BootID: a.boot.ID, Store: a.store, Runner: a.runner, Runtimes: a.runtimes,
		Member: a.holder, Admitted: a.mayRestart, Send: a.observe, Log: log,
	}
	if cfg.Synthetic == nil {
		if err := a.keepStrict(); err != nil {
			return nil, err
		}
		supervising.Strict = a.strict
	}
	a.supervisor = supervise.New(supervising)
	a.runner.Hooks = step.Hooks{Member: a.isMember, MayAct: a.mayAct, Late: a.tellLate, Done: a.supervisor.Look}
	if a.strict != nil {
		a.runner.Strict = a.strict
	}
	return a, nil
}

// keepStrict takes over the host's deadline.
func (a *Agent) keepStrict() error {
	k, err := strict.Open(strict.Config{
		Dir: deadline.DirOf(a.cfg.RunDir, a.cfg.Fleet, a.cfg.Host), Fleet: a.cfg.Fleet, Host: a.cfg.Host,
		DockerHost: a.cfg.DockerHost, LibvirtURI: a.cfg.LibvirtURI, Runtimes: a.runtimes, Log: a.log,
		Ready: func(workload string) { a.supervisor.Look(workload) },
	}, a.store.List())
	if err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	a.cleanup = append(a.cleanup, k.Close)
	a.strict, a.holder.Keeper = k, k
	return nil
}

func (a *Agent) connectRuntimes() error {
	if c := a.cfg.Synthetic; c != nil {
		a.runtimes = []step.Runtime{
			synthetic.New(v1.KindContainer, a.cfg.Host, *c), synthetic.New(v1.KindVM, a.cfg.Host, *c),
		}
		return nil
	}
	cache, err := image.Open(filepath.Join(a.cfg.DataDir, "images"), image.Options{
		MaxConcurrent: a.cfg.MaxConcurrentCreates, StallTimeout: a.cfg.StallTimeout, AllowedPathPrefixes: a.cfg.AllowPaths,
		Keep: a.cfg.KeepImages, Disks: filepath.Join(a.cfg.DataDir, "workloads"),
	})
	if err != nil {
		return fmt.Errorf("open the image cache: %w", err)
	}
	a.inventory.Sources = append(a.inventory.Sources, cache)
	dockerDriver, err := docker.New(a.cfg.DockerHost)
	if err != nil {
		return err
	}
	libvirtDriver := libvirt.New(libvirt.Config{URI: a.cfg.LibvirtURI, Log: a.log})
	a.cleanup = append(a.cleanup, always(cache.Close), dockerDriver.Close, always(libvirtDriver.Close))
	a.runtimes = []step.Runtime{
		container.New(container.Config{
			Fleet: a.cfg.Fleet, Host: a.cfg.Host, DataDir: a.cfg.DataDir, AllowPaths: a.cfg.AllowPaths, AllowDevices: a.cfg.AllowDevices,
			MaxConcurrentPulls: a.cfg.MaxConcurrentCreates, StallTimeout: a.cfg.StallTimeout, BootedAt: a.boot.At,
		}, dockerDriver),
		vm.New(vm.Config{
			Fleet: a.cfg.Fleet, Host: a.cfg.Host, DataDir: a.cfg.DataDir, AllowPaths: a.cfg.AllowPaths,
			DomainType: a.cfg.DomainType, BootedAt: a.boot.At, Log: a.log,
		}, libvirtDriver, cache),
	}
	return nil
}

func (a *Agent) observe(ctx context.Context, workload string, o contract.Observation) error {
	return a.client.SignalWorkflow(ctx, contract.WorkloadID(workload), "", contract.SignalObserve, o)
}

// tellLate says in the workload's status that a late step was refused here.
func (a *Agent) tellLate(late contract.LateStep) {
	late.Host = a.cfg.Host
	a.log.Warn("a late step was refused", "workload", late.Workload, "step", late.Step, "fence", late.Fence, "why", late.Message)
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	if err := a.client.SignalWorkflow(ctx, contract.WorkloadID(late.Workload), "", contract.SignalLate, late); err != nil {
		a.log.Info("the workload could not be told of it", "workload", late.Workload, "error", err)
	}
}

// always is a cleanup that can't fail.
func always(f func()) func() error {
	return func() error { f(); return nil }
}
