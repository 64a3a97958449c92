package supervise

import (
	"slices"
	"strconv"
	"time"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// foldBurst changes of a workload are told at once. After each one more the pause until the next doubles, from foldMin to
	// foldMax, and what changes meanwhile is folded into one. Each foldMax that passes forgives one.
	foldBurst = 4
	foldMin   = time.Second
	foldMax   = 10 * time.Second
)

// sent is what was last told of a workload.
type sent struct {
	key   string
	fence int64
	// at is when, level how many were told lately, and skipped how many changes were folded since.
	at      time.Time
	level   float64
	skipped int
}

// fold says whether to tell an observation: now (0), not at all because it was told (-1), or after the returned time. What
// the control plane has to decide on is never held back. It also returns how many were folded into this one.
func (s *Supervisor) fold(workload string, o contract.Observation, decisive bool, now time.Time) (later time.Duration, repeated int) {
	last := s.sent[workload]
	key := observationKey(o)
	if last.key == key {
		return -1, 0
	}
	if wait := last.at.Add(pauseAt(last.level)).Sub(now); wait > 0 && !decisive {
		last.skipped++
		s.sent[workload] = last
		return wait, 0
	}
	repeated, last.skipped = last.skipped, 0
	last.level = max(0, last.level-float64(now.Sub(last.at))/float64(foldMax)) + 1
	last.key, last.fence, last.at = key, o.Fence, now
	s.sent[workload] = last
	return 0, repeated
}

// pauseAt is how long nothing is told after so many have been told lately.
func pauseAt(level float64) time.Duration {
	pause := time.Duration(0)
	for ; level > foldBurst && pause < foldMax; level-- {
		pause = max(foldMin, 2*pause)
	}
	return min(pause, foldMax)
}

// answered reports whether the action's own result has told the control plane what an observation says: it then need not
// be told again. Under a new lease everything is told, whatever was said before.
func (s *Supervisor) answered(r record.Record, o contract.Observation) bool {
	out := r.FinishedOut
	if s.owed[r.Workload] || s.sent[r.Workload].fence >= r.Fence || r.Finished != r.Fence || out == nil || r.Attempt > 0 {
		return false
	}
	if o.State != contract.RunRunning || len(o.Findings) > 0 || o.Restarts > 0 || out.StartedAt.IsZero() || !o.StartedAt.Equal(out.StartedAt) ||
		!slices.Equal(o.Addresses, out.Addresses) || !slices.Equal(o.Ports, out.Ports) {
		return false
	}
	last := s.sent[r.Workload]
	last.key, last.fence = observationKey(o), r.Fence
	s.sent[r.Workload] = last
	return true
}

// observationKey is equal for observations that say the same. An end belongs to the run that began at StartedAt: when it was
// noticed says nothing new.
func observationKey(o contract.Observation) string {
	key := string(o.State) + "|" + o.StartedAt.String() + "|" + strconv.Itoa(o.Restarts) + "|" + strconv.FormatInt(o.Fence, 10) + "|" + o.Message
	for _, a := range slices.Concat(o.Addresses, o.Ports) {
		key += "|" + a
	}
	for _, f := range o.Findings {
		key += "|" + string(f.Reason) + "|" + f.Message
	}
	if o.Exit != nil {
		key += "|" + strconv.Itoa(o.Exit.Code) + string(o.Exit.Outcome) + "|" + o.Exit.Message // why it can't be started again
	}
	return key
}
