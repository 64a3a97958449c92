package contract

import (
	"fmt"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
)

// How a strict workload ends when its host loses its lease. The host's own deadline is the end of the lease, counted from when
// the last acknowledged beat was sent, which is never later than what the fleet counts from. Both are the same in the whole
// fleet, so that hosts and control plane can't differ about them.
const (
	// StrictMargin is how long after the deadline the guard leaves the agent to itself.
	StrictMargin = 3 * time.Second
	// StrictKillLimit is how long an end by force may take, once a workload's own grace is over.
	StrictKillLimit = 10 * time.Second
)

// NoGuard says why a host takes no strict workload.
const NoGuard = "no guard runs on the host: start `berth guard` there"

// CheckStrict refuses a strict workload that could still be stopping when the fleet starts it elsewhere. Its host stops it
// from the end of the lease on; the fleet moves it no sooner than the grace after that.
func CheckStrict(w v1.Workload, t Timings) error {
	c := w.Spec()
	if c == nil || !c.Strict {
		return nil
	}
	stop := c.StopGracePeriod.D()
	stopped, moved := t.Lease+stop+StrictKillLimit+StrictMargin, t.Lease+t.Grace
	if stopped < moved {
		return nil
	}
	advice := "raise the fleet's --grace"
	if most := (t.Grace - StrictKillLimit - StrictMargin - time.Second).Truncate(time.Second); most > 0 {
		advice = fmt.Sprintf("at most %s, or %s", most, advice)
	}
	return v1.FieldErrors{{Path: "spec.stopGracePeriod", Reason: v1.ReasonInvalid, Message: fmt.Sprintf(
		"too long for strict: cut off, its host stops it by %s after the last beat (lease %s, stop %s, kill %s, margin %s), "+
			"which must be before it may start elsewhere, %s after it (lease %s, grace %s): %s",
		stopped, t.Lease, stop, StrictKillLimit, StrictMargin, moved, t.Lease, t.Grace, advice)}}
}
