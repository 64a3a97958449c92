package workload

import (
	"slices"
	"strings"

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
