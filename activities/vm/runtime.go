// Package vm runs virtual machines on a host: it makes their disks, seed and domain, boots, watches, stops and removes
// them. What it knows of the hypervisor is the small interface Driver.
package vm

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/berth-dev/berth/activities/image"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Config says how this host runs virtual machines.
type Config struct {
	// Fleet and Host are stamped on everything that is made.
	Fleet, Host string
	// DataDir holds workloads/<name>/ with the disks. QEMU's user must be able to pass through it: mode 0711.
	DataDir string
	// AllowPaths are the directories below which a spec may name disks and images of the host.
	AllowPaths []string
	// DomainType is kvm or qemu. Default: kvm if this host has hardware virtualisation, else qemu.
	DomainType string
	// BootedAt is when the machine booted: what ended with it was interrupted. Zero means that it is not known.
	BootedAt time.Time
	Log      *slog.Logger
}

// Images is the host's cache of images. Ensure fetches an image unless it is there, and says how far it is. Use keeps it there
// while a disk is made of it.
type Images interface {
	Ensure(ctx context.Context, src v1.DiskImage, progress func(v1.Progress)) (image.Image, error)
	Use(base image.Image, do func() error) error
}

// Runtime implements step.Runtime for virtual machines.
type Runtime struct {
	cfg    Config
	ids    identity
	driver Driver
	images Images
	log    *slog.Logger
	// heard is how domains ended: those that have no definition can't be asked.
	heard hearsay
}

var _ step.Runtime = (*Runtime)(nil)

// New returns the runtime. It touches nothing yet.
func New(cfg Config, driver Driver, images Images) *Runtime {
	log := cfg.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Runtime{cfg: cfg, ids: identity{cfg.Fleet, cfg.Host}, driver: driver, images: images, log: log, heard: hearsay{ends: map[string]ended{}}}
}

// Kind is the kind of workload that it runs.
func (r *Runtime) Kind() v1.Kind { return v1.KindVM }

// Steps are the steps of a virtual machine.
func (r *Runtime) Steps() map[contract.Step]step.Func {
	return map[contract.Step]step.Func{
		contract.StepPrepare:     r.prepare,
		contract.StepCreate:      r.create,
		contract.StepStart:       r.start,
		contract.StepAwaitReady:  r.awaitReady,
		contract.StepStop:        r.stop,
		contract.StepRemove:      r.remove,
		contract.StepAcknowledge: r.acknowledge,
	}
}

func (r *Runtime) dir(workload string) string {
	return filepath.Join(r.cfg.DataDir, "workloads", workload)
}

func (r *Runtime) domainType() (domainType, why string) {
	return chooseDomainType(r.cfg.DomainType, "/dev/kvm", "/proc/cpuinfo")
}

// spec is the step's virtual machine.
func spec(c *step.Call) (*v1.VMSpec, error) {
	if c.In.Spec.VM == nil {
		return nil, contract.Permanent(v1.ReasonInternal, "report this", "a step of a virtual machine came without its spec")
	}
	return c.In.Spec.VM, nil
}

// report returns a function that reports a step's progress.
func report(c *step.Call, s contract.Step) func(v1.Progress) {
	name := contract.ActivityName(v1.KindVM, s)
	return func(p v1.Progress) {
		p.Step = name
		c.Progress(p)
	}
}
