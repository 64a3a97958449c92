package place

import (
	"slices"
	"strings"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/placement"
)

// refused turns the hosts' answers into one error. Its reason is theirs if they agree, NoCapacity if any has too little
// room, and else that none matches; hosts that the spec excludes have no say unless it excludes all.
func refused(all []placement.Refusal) error {
	if len(all) == 0 {
		return guess(contract.Retryable(v1.ReasonNoMatchingHost, "start an agent: berth agent", "no host has joined the fleet"))
	}
	all, allowed := placement.FirstThatMatter(all)
	lines := make([]string, 0, len(all))
	for _, r := range all {
		lines = append(lines, r.Host+": "+r.Short)
	}
	deciding := all
	if allowed > 0 {
		deciding = all[:allowed]
	}
	reason := deciding[0].Reason
	if slices.ContainsFunc(deciding, func(r placement.Refusal) bool { return r.Reason != reason }) {
		reason = v1.ReasonNoMatchingHost
	}
	if slices.ContainsFunc(deciding, func(r placement.Refusal) bool { return r.Reason == v1.ReasonNoCapacity }) {
		reason = v1.ReasonNoCapacity
	}
	err := contract.Retryable(reason, advice(reason), "%s", strings.Join(lines, "; "))
	if reason == v1.ReasonNoMatchingHost {
		return guess(err)
	}
	return err
}

// guess marks a refusal that depends on which hosts there are: one that has just joined may not be listed yet, and has
// offered its room to the queue already.
func guess(err *contract.Error) error {
	err.Guess = true
	return err
}

// adviceForgotten is what to do about a workload whose machine was forgotten.
const adviceForgotten = "if that machine comes back, forget this one and adopt it; else give the workload up with `berth delete --force` and apply it again"

func advice(reason v1.Reason) string {
	switch reason {
	case v1.ReasonNoCapacity:
		return "it runs as soon as there is room: stop or remove something, ask for less, or add a host"
	case v1.ReasonHostOffline:
		return "start the host's agent"
	case v1.ReasonHostLost:
		return adviceForgotten
	case v1.ReasonRuntimeUnavailable:
		return "start the runtime on the host, which the agent notices by itself; one that was switched off: berth host NAME --enable-runtime"
	case v1.ReasonPortConflict:
		return "choose another host port, or remove the workload that has it"
	default:
		return "see berth hosts"
	}
}
