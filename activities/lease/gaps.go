package lease

import "time"

// gaps are the times between the acknowledged beats of a lease: whether the agent's heart stumbles shows in them long before
// the lease runs out.
type gaps struct {
	// last is when the last beat was acknowledged, by deadline.Now; zero before the first.
	last, longest time.Duration
}

// acknowledged takes a beat, and returns the time since the one before, or zero if there was none.
func (g *gaps) acknowledged(now time.Duration) time.Duration {
	before := g.last
	g.last = now
	if before == 0 {
		return 0
	}
	g.longest = max(g.longest, now-before)
	return now - before
}
