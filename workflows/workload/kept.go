package workload

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// keepVolumes bounds the names of volumes that are kept over the generations.
const keepVolumes = 4 * v1.MaxMounts

// noteVolumes keeps the names of volumes that a deploy may make: one that a later generation does not mount is still there.
func (s *State) noteVolumes() {
	if s.Workload.Container == nil {
		return
	}
	for _, m := range s.Workload.Container.Volumes {
		if m.Name != "" && !slices.Contains(s.Volumes, m.Name) && len(s.Volumes) < keepVolumes {
			s.Volumes = append(s.Volumes, m.Name)
		}
	}
}

// noteLostData says of a deploy that made volumes or disks anew which the workload has had on this host that their data is
// gone. What the spec has now is what it has had from now on.
func (s *State) noteLostData(d *Doing, made []string, now time.Time) {
	had, what := s.Data, "volumes were gone, and were made again, empty"
	if d.Spec.VM != nil {
		what = "disks were gone, and were made again, as new"
	}
	if had == nil && s.Deployed != nil && s.Deployed.Generation == d.Generation && !d.Relocate {
		had = made // a state from before Data was kept
	}
	if lost := slices.DeleteFunc(slices.Clone(made), func(name string) bool { return !slices.Contains(had, name) }); len(lost) > 0 {
		s.AddCondition(v1.ReasonNotFound, fmt.Sprintf("on host %s these %s: %s", s.Placement.Host, what, strings.Join(lost, " ")), now)
	}
	s.DataAt = d.Fence
	for _, name := range dataOf(d.Spec) {
		if !slices.Contains(s.Data, name) && len(s.Data) < keepVolumes {
			s.Data = append(s.Data, name)
		}
	}
}

// dataOf are the named volumes and managed disks of a spec.
func dataOf(w v1.Workload) (names []string) {
	if w.Container != nil {
		for _, m := range w.Container.Volumes {
			if m.Name != "" {
				names = append(names, m.Name)
			}
		}
	}
	if w.VM != nil {
		for _, d := range w.VM.Disks {
			if d.Path == "" {
				names = append(names, d.Name)
			}
		}
	}
	return names
}

// Kept is what will stay on the host when the workload is removed: named volumes, unless they are to go too, and what the
// user brought.
func (s *State) Kept() []v1.Kept {
	if s.Placement == nil {
		return nil
	}
	host := s.Placement.Host
	var kept []v1.Kept
	if !s.DropVolumes {
		for _, name := range s.Volumes {
			kept = append(kept, v1.Kept{Kind: v1.KeptVolume, Host: host, Name: name})
		}
	}
	for _, path := range contract.Brought(s.Workload) {
		kept = append(kept, v1.Kept{Kind: v1.KeptPath, Host: host, Ref: path})
	}
	return kept
}

// stayedMessage says what a remove left.
func (s *State) stayedMessage() string {
	if len(s.Stayed) == 0 {
		return ""
	}
	return contract.Clip("stays on its host: "+strings.Join(s.Stayed, ", "), 600)
}
