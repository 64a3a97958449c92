package lease

import (
	"context"
	"time"

	"github.com/berth-dev/berth/activities/deadline"
)

// stall notices that the process stood still for longer than a lease: it was frozen, or the machine slept. The fleet may have
// moved its work meanwhile, and what it was about to do must not be done before it has been admitted again. This is not the
// same as being cut off: who runs on knows that nothing newer has reached it, and carries on with what is under way.
type stall struct {
	// limit is a lease's length, alive when the process was last seen to run, by deadline.Now.
	limit, alive time.Duration
	// since is when the process went on after it stood still, or zero.
	since time.Duration
	// leaseNo is the lease that it held then.
	leaseNo int64
}

// pulse notes that the process runs. Whoever asks whether it stood still notes it too, so that there is no moment after a
// freeze in which it goes unnoticed.
func (s *stall) pulse(now time.Duration, leaseNo int64) {
	if now-s.alive > s.limit && s.since == 0 {
		s.since, s.leaseNo = now, leaseNo
	}
	s.alive = now
}

// acknowledged takes a beat that was sent after the process went on: if it was for the lease that it had held before, that
// lease never ended, and nothing has moved.
func (s *stall) acknowledged(leaseNo int64, sent time.Duration) {
	if s.since != 0 && leaseNo == s.leaseNo && sent >= s.since {
		s.since = 0
	}
}

// Watch notices that the process stands still, until ctx ends.
func (h *Holder) Watch(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for ctx.Err() == nil {
		if h.Stalled() {
			h.log.Warn("this process stood still for longer than its lease; it starts nothing before it is admitted again")
			h.awaitResume(ctx, ticker.C)
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

func (h *Holder) awaitResume(ctx context.Context, tick <-chan time.Time) {
	for ctx.Err() == nil && h.Stalled() {
		select {
		case <-ctx.Done():
		case <-tick:
		}
	}
}

// Stalled reports whether the process stood still for longer than its lease and has not been admitted since.
func (h *Holder) Stalled() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stall.pulse(deadline.Now(), h.leaseNo)
	return h.stall.since != 0
}

// Resume says that the host has been admitted, and knows what was decided while it was away.
func (h *Holder) Resume() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stall.since, h.stall.alive = 0, deadline.Now()
}
