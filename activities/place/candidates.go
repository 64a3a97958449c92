package place

import (
	"context"
	"slices"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/placement"
)

// candidates are the hosts to ask, best first, and those that are left out, with why. A pinned workload has one candidate.
func (a *Activities) candidates(ctx context.Context, in contract.PlaceIn, since time.Time) ([]string, []placement.Refusal, error) {
	if in.Pinned != "" {
		return []string{in.Pinned}, nil, nil
	}
	hosts, err := a.hosts.get(ctx, since, func(ctx context.Context) ([]v1.Host, error) { return ListHosts(ctx, a.Client, a.Data) })
	if err != nil {
		return nil, nil, err
	}
	hosts = slices.DeleteFunc(slices.Clone(hosts), func(h v1.Host) bool { return in.Leaves != "" && h.Name == in.Leaves })
	candidates, refusals := placement.Rank(hosts, in.Reserve.Needs, in.Reserve.Placement)
	return askFirst(candidates, in.Prefer), refusals, nil
}

func askFirst(hosts []string, first string) []string {
	for i, h := range hosts {
		if h == first {
			rest := append(append([]string{}, hosts[:i]...), hosts[i+1:]...)
			return append([]string{first}, rest...)
		}
	}
	return hosts
}
