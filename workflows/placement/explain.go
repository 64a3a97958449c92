package placement

import (
	"fmt"
	"slices"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Explain guesses which hosts would take a workload, best first, from what hosts show of themselves, and why each other would
// not. What it says may be some milliseconds old, and hosts show neither ports nor devices nor the labels of what they run:
// only a host's ledger decides.
func Explain(hosts []v1.Host, w v1.Workload) (fitting []string, refusals []Refusal) {
	needs := contract.NeedsOf(w)
	candidates, refusals := Rank(hosts, needs, w.Spec().Placement)
	for _, name := range candidates {
		h := hosts[slices.IndexFunc(hosts, func(h v1.Host) bool { return h.Name == name })]
		reason, short := lacks(h, needs)
		if reason != v1.ReasonNone {
			refusals = append(refusals, Refusal{Host: name, Reason: reason, Short: short})
			continue
		}
		fitting = append(fitting, name)
	}
	return fitting, refusals
}

func lacks(h v1.Host, n contract.Needs) (v1.Reason, string) {
	switch {
	case h.State != v1.HostOnline:
		return v1.ReasonHostOffline, fmt.Sprintf("the host is %s", h.State)
	case h.Cordoned:
		return v1.ReasonNoMatchingHost, "the host is cordoned"
	case n.Strict && !h.Guard:
		return v1.ReasonNoMatchingHost, contract.NoGuard
	}
	i := slices.IndexFunc(h.Runtimes, func(r v1.Runtime) bool { return slices.Contains(r.Kinds, n.Kind) })
	if i < 0 {
		return v1.ReasonRuntimeUnavailable, fmt.Sprintf("the host has no runtime for kind %s", n.Kind)
	}
	if r := h.Runtimes[i]; !r.Ready {
		return v1.ReasonRuntimeUnavailable, fmt.Sprintf("%s is not ready: %s", r.Name, r.Message)
	}
	return contract.Short(h.Capacity, h.Reserved, n.Amount)
}
