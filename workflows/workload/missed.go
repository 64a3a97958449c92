package workload

import (
	"fmt"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// missed takes from a sweep that what runs is absent from its host. It holds only as long as nothing was done since the sweep
// read the state, and nothing is under way.
func (s *State) missed(o contract.Observation, now time.Time) bool {
	if s.Doing != nil || s.Deployed == nil || s.Placement == nil || s.HostLost || s.Placement.Host != o.Host || s.Fence != o.Sweep.Fence ||
		s.DoneSeq < s.WantedSeq || s.Seen.Fence > s.Deployed.Fence {
		return false
	}
	if o.Sweep.Later > s.Fence {
		s.forgot(o, now)
		return true
	}
	if s.Seen.Fence == s.Deployed.Fence && s.Seen.State == contract.RunAbsent {
		return false
	}
	seen := contract.Observation{Fence: s.Deployed.Fence, Attempt: s.Deployed.Attempt}
	if s.Seen.Fence == seen.Fence {
		seen = s.Seen // what the agent says next is later than what it said last
	}
	seen.Host, seen.State, seen.Exit, seen.Message = o.Host, contract.RunAbsent, nil, o.Sweep.Message
	s.Seen = seen
	s.absorb(now)
	return true
}

// forgot takes that its host has seen actions of which the workload itself knows nothing: Temporal's database was put back to
// an earlier day. What was deployed by its own word is not there; whether it is to be made again only its user knows. The
// fence stays: until an action has met the host's own, what later ones made elsewhere must not be taken for outdated.
func (s *State) forgot(o contract.Observation, now time.Time) {
	s.Deployed = nil
	s.Failure = failure(contract.Permanent(v1.ReasonStaleFence,
		fmt.Sprintf("berth delete %s if it was to go; berth retry %s makes it again", s.Name, s.Name), "%s", o.Sweep.Message), now)
}
