package agent

import (
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// What an agent may do by itself depends on what it can know. While Temporal is away it goes on with what is under way, and
// starts again what ended. After it stood still it does neither: its work may be elsewhere by now. What is asked of it, it
// does while it holds its lease, after the debts that came with it.

// mayRestart reports whether this host starts again what ended by itself.
func (a *Agent) mayRestart() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.admitted && !a.holder.Stalled()
}

// isMember reports whether this host takes steps that come from the fleet.
func (a *Agent) isMember() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.member && a.holder.Live() && !a.holder.Stalled()
}

// mayAct says why nothing may be changed on this host now.
func (a *Agent) mayAct() error {
	if !a.holder.Stalled() {
		return nil
	}
	return contract.Retryable(v1.ReasonUnavailable, "it goes on when the fleet has admitted the host again",
		"the agent of host %s stood still for longer than its lease", a.cfg.Host)
}
