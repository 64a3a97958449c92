package vm

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/berth-dev/berth/activities/disk"
	"github.com/berth-dev/berth/activities/inventory"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

var _ inventory.Source = (*Runtime)(nil)

// Kinds are the kinds of things that virtual machines leave on a host.
func (r *Runtime) Kinds() []contract.ThingKind {
	return []contract.ThingKind{contract.ThingDomain, contract.ThingDisk, contract.ThingSeed}
}

// Inventory lists this host's domains, or the files that carry its marker. A file is not judged where domains can't be
// seen: one may use it.
func (r *Runtime) Inventory(ctx context.Context, kind contract.ThingKind) ([]contract.Thing, error) {
	names, err := r.driver.Domains(ctx)
	if err != nil {
		return nil, err
	}
	if kind == contract.ThingDomain {
		return r.domainThings(ctx, names)
	}
	markers, err := filepath.Glob(disk.MarkerPath(filepath.Join(globEscape(r.cfg.DataDir), "workloads", "*", "*")))
	if err != nil {
		return nil, disk.Classify("list the disks", err)
	}
	var all []contract.Thing
	for _, m := range markers {
		t, ours, err := r.fileThing(strings.TrimSuffix(m, disk.MarkerPath("")))
		if err != nil {
			return nil, err
		}
		if ours && t.Kind == kind {
			all = append(all, t)
		}
	}
	return all, nil
}

func (r *Runtime) domainThings(ctx context.Context, names []string) ([]contract.Thing, error) {
	var all []contract.Thing
	for _, name := range names {
		workload, ours := r.ids.workload(name)
		if !ours {
			continue
		}
		d, err := r.domain(ctx, workload)
		switch {
		case contract.ReasonOf(err) == v1.ReasonPolicyDenied:
			continue // another's, whatever it is called
		case err != nil:
			return nil, err
		case d != nil:
			all = append(all, domainThing(d))
		}
	}
	return all, nil
}

func domainThing(d *found) contract.Thing {
	t := contract.Thing{
		Kind: contract.ThingDomain, Name: d.Name, ID: d.UUID, Workload: d.mark.Workload, Generation: d.mark.Generation, Fence: d.mark.Fence,
	}
	if !d.mark.Made.IsZero() {
		t.Age, t.Known = max(0, time.Since(d.mark.Made)), true
	}
	return t
}

// fileThing reads the marker of a file, whose own time is that of the file. The file itself changes all the time, or may
// be gone.
func (r *Runtime) fileThing(path string) (contract.Thing, bool, error) {
	m, err := disk.ReadMarker(path)
	switch {
	case contract.ReasonOf(err) == v1.ReasonNotFound:
		return contract.Thing{}, false, nil // it went meanwhile
	case contract.ReasonOf(err) == v1.ReasonPolicyDenied:
		return contract.Thing{}, false, nil // whose it is cannot be told: not ours
	case err != nil:
		return contract.Thing{}, false, err
	}
	owner := disk.Owner{Fleet: r.cfg.Fleet, Host: r.cfg.Host}
	name, err := filepath.Rel(r.cfg.DataDir, path)
	if err != nil || !owner.Owns(m) {
		return contract.Thing{}, false, nil
	}
	t := contract.Thing{Kind: contract.ThingDisk, Name: name, Workload: m.Workload, Generation: m.Generation, Fence: m.Fence}
	if filepath.Base(path) == seedFile {
		t.Kind = contract.ThingSeed
	}
	if path != filepath.Join(r.dir(m.Workload), filepath.Base(path)) || v1.ValidateName(m.Workload) != nil {
		t.Odd = "its marker belongs to another workload's directory"
	}
	if info, err := os.Lstat(disk.MarkerPath(path)); err == nil {
		t.Age, t.Known = max(0, time.Since(info.ModTime())), true
	}
	if info, err := os.Lstat(path); err == nil {
		t.Size = info.Size()
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			t.Size = s.Blocks * 512 // what it takes, not what the guest sees
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return contract.Thing{}, false, disk.Classify("look at "+path, err)
	}
	return t, true, nil
}

// Discard removes a domain, a disk or a seed that belongs to nobody. Firmware variables stay as long as the disks may: they
// are removed with the workload only.
func (r *Runtime) Discard(ctx context.Context, c *step.Call, o contract.Orphan) (string, error) {
	d, err := r.domain(ctx, o.Thing.Workload)
	if err != nil {
		return "", err
	}
	if o.Thing.Kind == contract.ThingDomain {
		return r.discardDomain(ctx, c, o, d)
	}
	if d != nil {
		return "the domain of its workload is still there", nil
	}
	path := filepath.Join(r.cfg.DataDir, o.Thing.Name)
	now, found, err := r.fileThing(path)
	if err != nil || !found {
		return "", err
	}
	if why := o.Differs(now); why != "" {
		return why, nil
	}
	name := "vm.remove-disk"
	if now.Kind == contract.ThingSeed {
		name = "vm.remove-seed"
	}
	return "", c.Mutate(ctx, name, func(context.Context) error { return disk.RemoveManaged(path, r.owner(o.Thing.Workload)) })
}

func (r *Runtime) discardDomain(ctx context.Context, c *step.Call, o contract.Orphan, d *found) (string, error) {
	if d == nil {
		return "", nil
	}
	if why := o.Differs(domainThing(d)); why != "" {
		return why, nil
	}
	if d.Power != PowerOff {
		if err := r.powerOff(ctx, c, contract.StepRemove, gracePeriod(c)); err != nil {
			return "", err
		}
	}
	s, err := readState(c.Dir)
	if err != nil {
		return "", err
	}
	if err := r.dropAddresses(ctx, c, s.Addresses); err != nil {
		return "", err
	}
	return "", r.undefine(ctx, c, o.Proven)
}
