// Package placement says which hosts may take a workload, and in which order they are asked. It is pure, and a guess: only a
// host's ledger grants.
package placement

import (
	"sort"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Refusal is why one host does not take a workload.
type Refusal struct {
	Host   string
	Reason v1.Reason
	Short  string
	// Excluded is true if the spec's own placement keeps the workload from the host.
	Excluded bool
}

// FirstThatMatter puts the hosts that the spec allows before those that it excludes, each in the order they came, and returns
// how many it allows. If it allows any, what they say is why the workload does not run.
func FirstThatMatter(refusals []Refusal) (sorted []Refusal, allowed int) {
	var excluded []Refusal
	for _, r := range refusals {
		if r.Excluded {
			excluded = append(excluded, r)
			continue
		}
		sorted = append(sorted, r)
	}
	return append(sorted, excluded...), len(sorted)
}

// Rank orders the hosts that a placement allows: those that take such work first, then by free memory, then by the fewest
// workloads, as not all say what they need, then by name. The others are returned with the reason.
func Rank(hosts []v1.Host, needs contract.Needs, placement *v1.Placement) (candidates []string, refusals []Refusal) {
	fitting := make([]v1.Host, 0, len(hosts))
	for _, h := range hosts {
		if why := placement.Refuses(h.Name, h.Labels); why != "" {
			refusals = append(refusals, Refusal{Host: h.Name, Reason: v1.ReasonNoMatchingHost, Short: why, Excluded: true})
			continue
		}
		fitting = append(fitting, h)
	}
	free := func(h v1.Host) v1.Bytes { return h.Capacity.Memory - h.Reserved.Memory }
	sort.SliceStable(fitting, func(i, j int) bool {
		a, b := fitting[i], fitting[j]
		switch {
		case takesWork(a, needs) != takesWork(b, needs):
			return takesWork(a, needs)
		case free(a) != free(b):
			return free(a) > free(b)
		case a.Workloads != b.Workloads:
			return a.Workloads < b.Workloads
		default:
			return a.Name < b.Name
		}
	})
	for _, h := range fitting {
		candidates = append(candidates, h.Name)
	}
	return candidates, refusals
}

func takesWork(h v1.Host, n contract.Needs) bool {
	return h.State == v1.HostOnline && !h.Cordoned && (h.Guard || !n.Strict)
}
