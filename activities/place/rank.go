package place

import (
	"context"
	"sort"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// candidates are the hosts to ask, best first, and those that are left out, with why. A pinned workload has one candidate.
func (a *Activities) candidates(ctx context.Context, in contract.PlaceIn) ([]string, []Refusal, error) {
	if in.Pinned != "" {
		return []string{in.Pinned}, nil, nil
	}
	hosts, err := ListHosts(ctx, a.Client, a.Data)
	if err != nil {
		return nil, nil, err
	}
	candidates, refusals := Rank(hosts, in.Reserve.Placement)
	return askFirst(candidates, in.Prefer), refusals, nil
}

// Rank orders the hosts that a placement allows: those that take work first, then by free memory, then by name. The others
// are returned with the reason.
func Rank(hosts []v1.Host, placement *v1.Placement) (candidates []string, refusals []Refusal) {
	fitting := make([]v1.Host, 0, len(hosts))
	for _, h := range hosts {
		if why := placement.Refuses(h.Name, h.Labels); why != "" {
			refusals = append(refusals, Refusal{h.Name, v1.ReasonNoMatchingHost, why})
			continue
		}
		fitting = append(fitting, h)
	}
	free := func(h v1.Host) v1.Bytes { return h.Capacity.Memory - h.Reserved.Memory }
	sort.SliceStable(fitting, func(i, j int) bool {
		a, b := fitting[i], fitting[j]
		switch {
		case takesWork(a) != takesWork(b):
			return takesWork(a)
		case free(a) != free(b):
			return free(a) > free(b)
		default:
			return a.Name < b.Name
		}
	})
	for _, h := range fitting {
		candidates = append(candidates, h.Name)
	}
	return candidates, refusals
}

func takesWork(h v1.Host) bool { return h.State == v1.HostOnline && !h.Cordoned }

func askFirst(hosts []string, first string) []string {
	for i, h := range hosts {
		if h == first {
			rest := append(append([]string{}, hosts[:i]...), hosts[i+1:]...)
			return append([]string{first}, rest...)
		}
	}
	return hosts
}
