package container

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"slices"
)

// maxDeviceNames bounds what DeviceNames tells: it is carried by the fleet.
const maxDeviceNames = 256

// notNames are directories under /dev that are large and hold no devices, or links to every device there is.
var notNames = []string{"/dev/shm", "/dev/mqueue", "/dev/hugepages", "/dev/pts", "/dev/char", "/dev/block"}

// DeviceNames are the further names of devices that this host may give out, such as links under /dev/disk/by-id, each with
// the device's first name. With them the fleet knows that two specs want the same device. It needs not know all: a device that
// another workload has under a name that is not among them, for instance one beyond the 256th, is refused by the host itself.
func DeviceNames(allow []string) map[string]string {
	if len(allow) == 0 {
		return nil
	}
	may := policy{devices: allow}
	names := map[string]string{}
	for _, all := range namesOf(devicePathsUnder("/dev", allow)) {
		if len(all) == 1 || !slices.ContainsFunc(all, may.allowsName) {
			continue
		}
		for _, name := range all[1:] {
			if len(names) == maxDeviceNames {
				return names
			}
			names[name] = all[0]
		}
	}
	return names
}

// devicePathsUnder are the paths in a directory, and those that patterns stand for, that may lead to devices.
func devicePathsUnder(root string, patterns []string) []string {
	var paths []string
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error { // what can't be read has no names
		switch {
		case err != nil:
			return fs.SkipDir
		case e.IsDir() && slices.Contains(notNames, path):
			return fs.SkipDir
		case e.Type()&(fs.ModeSymlink|fs.ModeDevice) != 0:
			paths = append(paths, path)
		}
		return nil
	})
	for _, pattern := range patterns {
		more, _ := filepath.Glob(pattern) // a malformed pattern allows nothing
		paths = append(paths, more...)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// namesOf groups paths by the devices that they lead to: in each group the names, nodes before links, each kind sorted; the
// groups by their first names.
func namesOf(paths []string) [][]string {
	groups := map[device][]string{}
	nodes := map[string]bool{}
	for _, path := range paths {
		if d, ok := deviceAt(path); ok {
			resolved, err := filepath.EvalSymlinks(path)
			nodes[path] = err == nil && resolved == path
			groups[d] = append(groups[d], path)
		}
	}
	all := make([][]string, 0, len(groups))
	for _, names := range groups {
		slices.SortFunc(names, func(a, b string) int {
			switch {
			case nodes[a] && !nodes[b]:
				return -1
			case nodes[b] && !nodes[a]:
				return 1
			default:
				return cmp.Compare(a, b)
			}
		})
		all = append(all, names)
	}
	slices.SortFunc(all, func(a, b []string) int { return cmp.Compare(a[0], b[0]) })
	return all
}
