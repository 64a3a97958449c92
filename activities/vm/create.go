package vm

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// create makes what start boots: disks, seed and domain. New disks are made while an older generation still runs; it is
// stopped only for what needs it to be.
func (r *Runtime) create(ctx context.Context, c *step.Call) (contract.StepOut, error) {
	vm, err := spec(c)
	if err != nil {
		return contract.StepOut{}, err
	}
	if err := checkPaths(r.cfg.AllowPaths, vm); err != nil { // a later retry may run without Prepare
		return contract.StepOut{}, err
	}
	old, err := r.domain(ctx, c.In.Ref.Workload)
	if err != nil {
		return contract.StepOut{}, err
	}
	digest, err := c.In.Spec.Digest()
	if err != nil {
		return contract.StepOut{}, contract.Permanent(v1.ReasonInternal, "report this", "the spec has no digest").WithCause(err)
	}
	same := old != nil && old.mark.Generation == c.In.Ref.Generation && old.mark.Spec == digest
	if same && old.Power != PowerOff {
		return contract.StepOut{RuntimeID: old.UUID, Found: "kept the running domain", Made: r.newDisks(c, vm)}, nil
	}
	if same && old.Power == PowerOff && old.mark.Fence == c.In.Ref.Fence {
		err := r.makeDisks(ctx, c, vm)
		return contract.StepOut{
			RuntimeID: old.UUID, Found: "kept the domain that an earlier try defined", Made: r.newDisks(c, vm),
		}, err
	}
	if err := r.makeDisks(ctx, c, vm); err != nil {
		return contract.StepOut{}, err
	}
	out := contract.StepOut{RuntimeID: r.ids.uuid(c.In.Ref.Workload), Made: r.newDisks(c, vm)}
	if old != nil {
		out.Found = fmt.Sprintf("replaced the domain of generation %d", old.mark.Generation)
		if err := r.retire(ctx, c, old); err != nil {
			return contract.StepOut{}, err
		}
	}
	return out, r.define(ctx, c, vm, digest)
}

// retire stops an older domain and drops its definition. Disks and firmware variables stay.
func (r *Runtime) retire(ctx context.Context, c *step.Call, old *found) error {
	if old.Power != PowerOff {
		grace := gracePeriod(c)
		if err := r.powerOff(ctx, c, contract.StepCreate, grace); err != nil {
			return err
		}
	}
	return r.undefine(ctx, c, false)
}

func (r *Runtime) undefine(ctx context.Context, c *step.Call, firmwareVariables bool) error {
	return c.Mutate(ctx, "vm.undefine", func(ctx context.Context) error {
		err := r.driver.Undefine(ctx, r.ids.domain(c.In.Ref.Workload), firmwareVariables)
		if contract.ReasonOf(err) == v1.ReasonNotFound {
			return nil
		}
		return err
	})
}

// define brings the disks to their size, writes the seed and defines the domain, which does not run.
func (r *Runtime) define(ctx context.Context, c *step.Call, vm *v1.VMSpec, digest string) error {
	s, err := readState(c.Dir)
	if err != nil {
		return err
	}
	if err := r.growDisks(ctx, c, vm); err != nil {
		return err
	}
	seedPath, err := r.writeSeed(ctx, c, &s, vm.CloudInit)
	if err != nil {
		return err
	}
	disks, err := r.attachments(c, vm)
	if err != nil {
		return err
	}
	ref := c.In.Ref
	domainType, _ := r.domainType()
	d := definition{
		Name: r.ids.domain(ref.Workload), UUID: r.ids.uuid(ref.Workload), DomainType: domainType,
		Mark: mark{
			Fleet: r.cfg.Fleet, Host: r.cfg.Host, Workload: ref.Workload, Generation: ref.Generation, Fence: ref.Fence, Spec: digest,
			Made:     time.Now(),
			Metadata: vm.Metadata,
		},
		VCPUs: vm.VCPUs, Memory: vm.Memory, Firmware: vm.Firmware, Disks: disks, Seed: seedPath,
		Networks: r.networks(ref.Workload, vm), Console: filepath.Join(c.Dir, consoleFile),
	}
	text, err := d.xml()
	if err != nil {
		return contract.Permanent(v1.ReasonInternal, "report this", "the domain can't be described").WithCause(err)
	}
	return c.Mutate(ctx, "vm.define", func(ctx context.Context) error { return r.driver.Define(ctx, d.Name, text) })
}
