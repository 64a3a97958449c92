package container

import (
	"context"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// device is a device as the kernel knows it. Many paths may lead to one.
type device struct {
	block  bool
	number uint64
}

// deviceAt returns the device that a path leads to now; false if it leads to none.
func deviceAt(path string) (device, bool) {
	var s unix.Stat_t
	if unix.Stat(path, &s) != nil {
		return device{}, false
	}
	kind := s.Mode & unix.S_IFMT
	return device{block: kind == unix.S_IFBLK, number: s.Rdev}, kind == unix.S_IFBLK || kind == unix.S_IFCHR
}

// claims are the devices of the starts that are under way. The fleet's ledger reserves a device by the path that a spec
// names, and can't know which other paths lead to it: only the host sees that. Who has a device shows in the containers;
// claims are for the moment before there is one.
type claims struct {
	mu sync.Mutex
	of map[device]string // by workload
}

// take claims all devices for a workload, or none, and says who has claimed one of them.
func (c *claims) take(workload string, devices map[device]string) (taken device, by string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for d := range devices {
		if other := c.of[d]; other != "" && other != workload {
			return d, other
		}
	}
	for d := range devices {
		c.of[d] = workload
	}
	return device{}, ""
}

func (c *claims) leave(workload string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for d, by := range c.of {
		if by == workload {
			delete(c.of, d)
		}
	}
}

// devicesAt are the devices that some paths lead to now, each with one of its paths. What is none, the engine refuses.
func devicesAt(paths []string) map[device]string {
	found := map[device]string{}
	for _, path := range paths {
		if d, ok := deviceAt(path); ok {
			found[d] = path
		}
	}
	return found
}

// claimDevices keeps the devices at some paths for a workload until leave is called. It is refused if another workload has
// one of them: by a container for which holds is true, or because it is being started with it. The caller holds the
// workload's lock.
func (r *Runtime) claimDevices(ctx context.Context, workload string, paths []string, holds func(Container) bool) (leave func(), err error) {
	wanted := devicesAt(paths)
	if d, by := r.claims.take(workload, wanted); by != "" {
		return nil, r.deviceTaken(wanted[d], by, "")
	}
	leave = func() { r.claims.leave(workload) }
	if err := r.devicesFree(ctx, workload, wanted, holds); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// devicesFree fails if a container of another workload of this host, for which holds is true, has one of the devices.
func (r *Runtime) devicesFree(ctx context.Context, workload string, wanted map[device]string, holds func(Container) bool) error {
	if len(wanted) == 0 {
		return nil
	}
	all, err := r.own(ctx, r.hostLabels())
	if err != nil {
		return err
	}
	for _, c := range all {
		by := c.Labels[LabelWorkload]
		if by == workload || c.Status == StatusGone || !holds(c) {
			continue
		}
		for _, path := range c.Devices {
			if d, ok := deviceAt(path); ok && wanted[d] != "" {
				return r.deviceTaken(wanted[d], by, path)
			}
		}
	}
	return nil
}

// deviceTaken is the refusal of a device that another workload has, under some other path if that is known.
func (r *Runtime) deviceTaken(path, by, other string) error {
	as := ""
	switch resolved, err := filepath.EvalSymlinks(path); {
	case other != "" && other != path:
		as = ", as " + other
	case err == nil && resolved != path:
		as = ", which is " + resolved
	}
	return contract.Retryable(v1.ReasonNoCapacity, "remove that workload, or choose another device or host; it is tried again by itself",
		"device %s of host %s is in use by %s%s", path, r.cfg.Host, by, as)
}

// exists and Container.Runs say which containers keep their devices from another. Whatever exists keeps them from one that
// is yet to be made. From one that was made earlier only what runs does: two that came to share a device, because a link
// was changed, shall not wait for each other.
func exists(Container) bool { return true }

func devicePaths(devices []v1.Device) []string {
	paths := make([]string, 0, len(devices))
	for _, d := range devices {
		paths = append(paths, d.Host)
	}
	return paths
}
