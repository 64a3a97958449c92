package vm

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/berth-dev/berth/activities/disk"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// prepare checks all that the deploy needs, and fetches the images. It changes nothing that runs.
func (r *Runtime) prepare(ctx context.Context, c *step.Call) (contract.StepOut, error) {
	vm, err := spec(c)
	if err != nil {
		return contract.StepOut{}, err
	}
	if err := r.check(ctx, vm); err != nil {
		return contract.StepOut{}, err
	}
	if _, err := r.wantedAddresses(ctx, c.In.Ref.Workload, c.Dir, vm); err != nil {
		return contract.StepOut{}, err
	}
	for _, d := range vm.Disks {
		if d.Image == nil || r.existingDisk(c.Dir, d.Name) != "" {
			continue // a disk that exists is kept: its image is not needed again
		}
		if _, err := r.images.Ensure(ctx, *d.Image, report(c, contract.StepPrepare)); err != nil {
			return contract.StepOut{}, err
		}
	}
	return contract.StepOut{}, nil
}

// check judges a spec against what this host allows and has.
func (r *Runtime) check(ctx context.Context, vm *v1.VMSpec) error {
	if err := checkPaths(r.cfg.AllowPaths, vm); err != nil {
		return err
	}
	for _, d := range vm.Disks {
		if d.Path == "" {
			continue
		}
		if _, err := disk.InspectAs(d.Path, d.Format); err != nil {
			return err
		}
	}
	for _, n := range vm.Networks {
		if err := r.checkNetwork(ctx, n); err != nil {
			return err
		}
	}
	if vm.Firmware != v1.FirmwareUEFI {
		return nil
	}
	caps, err := r.driver.Capabilities(ctx)
	if err == nil && !slices.Contains(caps.Firmwares, "efi") {
		err = contract.Permanent(v1.ReasonRuntimeError, "install UEFI firmware for QEMU (Debian's package ovmf), or use bios",
			"this host has no UEFI firmware for virtual machines")
	}
	return err
}

func (r *Runtime) checkNetwork(ctx context.Context, n v1.Network) error {
	if n.Bridge != "" {
		if _, err := os.Stat(filepath.Join("/sys/class/net", filepath.Base(n.Bridge), "bridge")); err != nil {
			return contract.Permanent(v1.ReasonNotFound, "make the bridge on the host, or use another", "the host has no bridge %s", n.Bridge)
		}
		return nil
	}
	network, err := r.driver.Network(ctx, n.Network)
	switch {
	case contract.ReasonOf(err) == v1.ReasonNotFound:
		return contract.Permanent(v1.ReasonNotFound, "define the network with virsh net-define, or use another",
			"the host has no libvirt network %s", n.Network)
	case err != nil:
		return err
	case !network.Active:
		return contract.Retryable(v1.ReasonRuntimeError,
			"start it on the host: virsh net-start "+n.Network+", and virsh net-autostart "+n.Network+" to have it at boot",
			"the libvirt network %s is not active", n.Network)
	}
	return nil
}
