package vm

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/berth-dev/berth/activities/disk"
	"github.com/berth-dev/berth/activities/failpoint"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// diskPath is where a managed disk stands.
func diskPath(dir, name string, format v1.DiskFormat) string {
	return filepath.Join(dir, "disk-"+name+"."+string(format))
}

// existingDisk finds a managed disk by its name, whatever its format; empty if there is none.
func (r *Runtime) existingDisk(dir, name string) string {
	for _, format := range []v1.DiskFormat{v1.FormatQCOW2, v1.FormatRaw} {
		if path := diskPath(dir, name, format); fileExists(path) {
			return path
		}
	}
	return ""
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// makeDisks makes the managed disks that do not exist. It touches none that does, so the domain may run.
func (r *Runtime) makeDisks(ctx context.Context, c *step.Call, vm *v1.VMSpec) error {
	for _, d := range vm.Disks {
		if d.Path != "" {
			continue
		}
		if path := r.existingDisk(c.Dir, d.Name); path != "" {
			if _, err := r.ownMarker(path, c.In.Ref.Workload); err != nil {
				return err
			}
			continue
		}
		if err := r.makeDisk(ctx, c, d); err != nil {
			return err
		}
	}
	return nil
}

// newDisks names the managed disks that this action has made, or one before it that failed. Of one that is not there, or not
// the workload's, there is nothing to tell.
func (r *Runtime) newDisks(c *step.Call, vm *v1.VMSpec) (made []string) {
	for _, d := range vm.Disks {
		if d.Path != "" {
			continue
		}
		m, err := r.ownMarker(r.existingDisk(c.Dir, d.Name), c.In.Ref.Workload)
		if err == nil && c.In.Anew(m.Fence) {
			made = append(made, d.Name)
		}
	}
	return made
}

// ownMarker reads a disk's mark. It refuses a file in the workload's directory that does not carry its mark.
func (r *Runtime) ownMarker(path, workload string) (disk.Marker, error) {
	m, err := disk.ReadMarker(path)
	if err != nil {
		return m, err
	}
	if owner := r.owner(workload); !owner.Owns(m) {
		return m, contract.Permanent(v1.ReasonPolicyDenied, "move the file away", "%s belongs to another workload", path)
	}
	return m, nil
}

func (r *Runtime) owner(workload string) disk.Owner {
	return disk.Owner{Fleet: r.cfg.Fleet, Host: r.cfg.Host, Workload: workload}
}

func (r *Runtime) marker(c *step.Call, name string) disk.Marker {
	return disk.Marker{
		Fleet: r.cfg.Fleet, Host: r.cfg.Host, Workload: c.In.Ref.Workload,
		Generation: c.In.Ref.Generation, Fence: c.In.Ref.Fence, Disk: name,
	}
}

// makeDisk makes one disk. Its marker comes first: a crash between the two leaves nothing that nobody dares to remove.
func (r *Runtime) makeDisk(ctx context.Context, c *step.Call, d v1.Disk) error {
	progress := report(c, contract.StepCreate)
	format, make, err := r.diskMaker(ctx, d, progress)
	if err != nil {
		return err
	}
	path := diskPath(c.Dir, d.Name, format)
	return c.Mutate(ctx, "vm.disk", func(ctx context.Context) error {
		if err := disk.Mark(path, r.marker(c, d.Name)); err != nil {
			return err
		}
		failpoint.Hit("vm.disk.marked", c.In.Ref.Workload)
		progress(v1.Progress{Detail: "making disk " + d.Name})
		return make(ctx, path)
	})
}

// diskMaker returns the format that a disk will have and what makes it.
func (r *Runtime) diskMaker(ctx context.Context, d v1.Disk, progress func(v1.Progress)) (
	v1.DiskFormat, func(ctx context.Context, path string) error, error,
) {
	if d.Image == nil {
		format := d.Format
		if format == "" {
			format = v1.FormatQCOW2
		}
		return format, func(ctx context.Context, path string) error {
			return disk.CreateBlank(ctx, path, format, sectors(d.Size))
		}, nil
	}
	base, err := r.images.Ensure(ctx, *d.Image, progress)
	if err != nil {
		return "", nil, err
	}
	if d.Size != 0 && sectors(d.Size) < base.VirtualSize {
		return "", nil, contract.Permanent(v1.ReasonInvalid, "ask for at least the image's size, or leave the size out",
			"disk %s: its image has %s, which is more than %s", d.Name, v1.Bytes(base.VirtualSize), d.Size)
	}
	if d.Mode != v1.DiskCopy {
		return v1.FormatQCOW2, func(ctx context.Context, path string) error {
			return r.images.Use(base, func() error {
				return disk.CreateOverlay(ctx, base.Path, base.Format, path, sectors(d.Size))
			})
		}, nil
	}
	return base.Format, func(ctx context.Context, path string) error {
		return r.images.Use(base, func() error {
			return disk.Copy(ctx, base.Path, path, func(p v1.Progress) {
				p.Detail = "copying disk " + d.Name
				progress(p)
			})
		})
	}, nil
}

// growDisks makes managed disks as large as the spec wants them. The domain does not run.
func (r *Runtime) growDisks(ctx context.Context, c *step.Call, vm *v1.VMSpec) error {
	for _, d := range vm.Disks {
		size := sectors(d.Size)
		if d.Path != "" || size == 0 {
			continue
		}
		path := r.existingDisk(c.Dir, d.Name)
		info, err := disk.InspectManaged(path)
		if err != nil {
			return err
		}
		if info.VirtualSize == size {
			continue
		}
		err = c.Mutate(ctx, "vm.grow-disk", func(ctx context.Context) error {
			return disk.Grow(ctx, path, formatOf(path), size)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sectors rounds a size up to what a disk can have.
func sectors(size v1.Bytes) int64 {
	const sector = 512
	return (int64(size) + sector - 1) / sector * sector
}

func formatOf(path string) v1.DiskFormat {
	return v1.DiskFormat(strings.TrimPrefix(filepath.Ext(path), "."))
}

// attachments says how the spec's disks are given to QEMU, after what the files themselves are.
func (r *Runtime) attachments(c *step.Call, vm *v1.VMSpec) ([]attachment, error) {
	var all []attachment
	for _, d := range vm.Disks {
		a := attachment{Name: d.Name, Path: d.Path, Format: d.Format, ReadOnly: d.ReadOnly}
		if d.Path != "" {
			// The file may have been changed since it was prepared.
			if _, err := disk.InspectAs(d.Path, d.Format); err != nil {
				return nil, err
			}
			all = append(all, a)
			continue
		}
		a.Path = r.existingDisk(c.Dir, d.Name)
		a.Format = formatOf(a.Path)
		if a.Format == v1.FormatQCOW2 {
			info, err := disk.InspectManaged(a.Path)
			if err != nil {
				return nil, err
			}
			a.Base, a.BaseFormat = info.Backing, info.BackingFormat
			if a.Base != "" && !fileExists(a.Base) {
				return nil, contract.Permanent(v1.ReasonImageNotFound, "put the image back, or remove the workload and apply it again",
					"disk %s: the image below it, %s, is gone", d.Name, a.Base)
			}
		}
		all = append(all, a)
	}
	return all, nil
}
