package supervise

import (
	"slices"
	"time"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	foldWindow = 10 * time.Second
	// foldBurst changes of a workload are told at once; those beyond are folded to one a window.
	foldBurst = 4
)

// sent is what was last told of a workload.
type sent struct {
	key     string
	fence   int64
	window  time.Time
	count   int
	skipped int
}

// fold says whether to tell an observation: now (0), not at all because it was told (-1), or after the returned time.
// Exits are never folded away. It also returns how many were folded into this one.
func (s *Supervisor) fold(workload string, o contract.Observation, now time.Time) (later time.Duration, repeated int) {
	last := s.sent[workload]
	key := observationKey(o)
	if last.key == key {
		return -1, 0
	}
	if now.Sub(last.window) > foldWindow {
		last.window, last.count = now, 0
	}
	if last.count >= foldBurst && o.State != contract.RunExited {
		last.skipped++
		s.sent[workload] = last
		return last.window.Add(foldWindow).Sub(now) + time.Millisecond, 0
	}
	repeated, last.skipped = last.skipped, 0
	last.count++
	last.key, last.fence = key, o.Fence
	s.sent[workload] = last
	return 0, repeated
}

// answered reports whether the action's own result has told the control plane what an observation says: it then need not
// be told again. Under a new lease everything is told, whatever was said before.
func (s *Supervisor) answered(r record.Record, o contract.Observation) bool {
	out := r.FinishedOut
	if s.owed[r.Workload] || s.sent[r.Workload].fence >= r.Fence || r.Finished != r.Fence || out == nil || r.Attempt > 0 {
		return false
	}
	if o.State != contract.RunRunning || o.Restarts > 0 || out.StartedAt.IsZero() || !o.StartedAt.Equal(out.StartedAt) ||
		!slices.Equal(o.Addresses, out.Addresses) || !slices.Equal(o.Ports, out.Ports) {
		return false
	}
	last := s.sent[r.Workload]
	last.key, last.fence = observationKey(o), r.Fence
	s.sent[r.Workload] = last
	return true
}

// observationKey is equal for observations that say the same.
func observationKey(o contract.Observation) string {
	key := string(o.State) + "|" + o.StartedAt.String() + "|" + time.Duration(o.Restarts).String() + "|" + time.Duration(o.Fence).String()
	for _, a := range slices.Concat(o.Addresses, o.Ports) {
		key += "|" + a
	}
	if o.Exit != nil {
		key += "|" + o.Exit.At.String()
	}
	return key
}
