package host

import (
	"slices"
	"strings"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// What an admin asks of a host that makes no sense in the state it is in is refused before anything changes.

// checkChange refuses to change what the host does not have. A host that was forgotten is a name without a machine: it can be
// kept from work, for whoever takes the name, and has nothing to empty or to switch off.
func (s *State) checkChange(c contract.HostChange) error {
	runtimes := union(c.DisableRuntimes, c.EnableRuntimes)
	if s.Phase == v1.HostForgotten {
		switch {
		case c.Drain != nil:
			return contract.Permanent(v1.ReasonInvalid, "nothing to do: what was there moves by itself or waits, as its spec says; "+
				"`berth delete --force` gives up what waits", "host %s was forgotten: there is nothing to drain", s.Name)
		case len(runtimes) > 0:
			return contract.Permanent(v1.ReasonInvalid, "cordon it, so that nothing starts on the machine that comes next, and switch "+
				"the runtime then", "host %s was forgotten: it has no runtimes", s.Name)
		}
	}
	var names []string
	for _, r := range s.Runtimes {
		names = append(names, r.Name)
	}
	for _, name := range runtimes {
		if !slices.Contains(names, name) && !slices.Contains(s.Disabled, name) {
			return contract.Permanent(v1.ReasonNotFound, "use one of "+strings.Join(names, ", "), "host %s has no runtime %q", s.Name, name)
		}
	}
	return nil
}

// checkForget refuses to give up a host that is there. One that was forgotten already may be forgotten again.
func (s *State) checkForget() error {
	if s.Phase == v1.HostOnline || s.Phase == v1.HostJoining {
		return contract.Permanent(v1.ReasonInvalid, "stop its agent first; if it is only to take no work, cordon or drain it",
			"host %s is %s: only a host that is away can be forgotten", s.Name, s.Phase)
	}
	return nil
}

// checkAdopt refuses to let a machine in whose name another one has, or that was never shut out.
func (s *State) checkAdopt() error {
	switch {
	case s.Phase == v1.HostForgotten:
		return nil
	case len(s.Barred) > 0:
		return contract.Permanent(v1.ReasonInvalid, "start the forgotten machine under another host id with a data directory of its own, "+
			"or stop and forget the machine that has the name now", "host %s is %s: another machine has the name of the forgotten one",
			s.Name, s.Phase)
	default:
		return contract.Permanent(v1.ReasonInvalid, "nothing to do: its own agent is let in, whenever it comes",
			"host %s is %s: it was not forgotten", s.Name, s.Phase)
	}
}
