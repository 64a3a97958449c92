package guard

import (
	"time"

	"github.com/berth-dev/berth/activities/deadline"
	"github.com/berth-dev/berth/activities/strict"
	"github.com/berth-dev/berth/workflows/contract"
)

// plan is what a guard does at one moment.
type plan struct {
	// killAgent comes first: an agent that held the lease, and is still there long after it ended, may start something again.
	killAgent bool
	stops     []stop
}

// stop is one workload to end, within the grace that is left to it.
type stop struct {
	deadline.Runtime
	grace time.Duration
}

// planFor says what to do by a deadline file. It is pure.
//
// Until the margin after the deadline all is the agent's. If the agent says then that it is stopping what must stop, it has
// until the workload's own grace is over as well; after that the guard ends it, and the agent if that held the lease.
func planFor(f deadline.File, bootID string, now time.Duration) plan {
	var p plan
	if f.BootID != bootID || now < f.Deadline+contract.StrictMargin {
		return p
	}
	for _, r := range f.Runtimes {
		grace := strict.Remaining(f.Deadline, r, now)
		if f.Stopping && grace > 0 {
			continue
		}
		p.stops = append(p.stops, stop{r, grace})
		p.killAgent = p.killAgent || f.Held && !r.Stopped
	}
	return p
}
