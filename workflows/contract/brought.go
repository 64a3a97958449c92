package contract

import v1 "github.com/berth-dev/berth/api/v1"

// Brought are the paths of the host that a user lets a workload use: Berth attaches them, and never removes them.
func Brought(w v1.Workload) []string {
	var paths []string
	if w.Container != nil {
		for _, m := range w.Container.Volumes {
			if m.Bind != "" {
				paths = append(paths, m.Bind)
			}
		}
	}
	if w.VM != nil {
		for _, d := range w.VM.Disks {
			if d.Path != "" {
				paths = append(paths, d.Path)
			}
		}
	}
	return paths
}
