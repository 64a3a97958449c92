package container

import (
	"sync"
	"time"
)

const (
	// maxOutages bounds what is remembered.
	maxOutages = 16
	// killSlack is how long after the grace a killed container may still take to be gone.
	killSlack = 15 * time.Second
	// lostCode is Docker's exit code for a container that was gone when the engine came up.
	lostCode = 255
)

// outside remembers what may have ended containers from outside, because their exit codes do not tell: an engine that
// stops asks each container to end, and one that obeys exits with zero. A container was interrupted if it ended
//   - soon after somebody, or the stopping engine, had the engine end it,
//   - while the engine was away, in the middle of which it can't be told from one that ended by itself, or
//   - with the machine.
//
// What happened while this process was away as well is not known.
type outside struct {
	boot time.Time

	mu    sync.Mutex
	gone  time.Time // since when the engine is away; zero while it is there
	past  []outage
	kills times // of containers, by their ids
	ooms  times
}

type outage struct{ from, to time.Time }

func (o *outside) away() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gone.IsZero() {
		o.gone = time.Now()
	}
}

func (o *outside) back() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.gone.IsZero() {
		return
	}
	o.past = append(o.past, outage{o.gone, time.Now()})
	o.past = o.past[max(0, len(o.past)-maxOutages):]
	o.gone = time.Time{}
}

// ended reports whether a container was ended from outside.
func (o *outside) ended(k Container) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if k.StartedAt.IsZero() {
		return false
	}
	grace := k.StopGrace
	if grace <= 0 {
		grace = defaultGrace
	}
	if at, ok := o.kills[k.ID]; ok && followed(k, at, grace+killSlack) {
		return true
	}
	if k.ExitCode == lostCode && k.StartedAt.Before(o.boot) && k.FinishedAt.After(o.boot) {
		return true
	}
	if !o.gone.IsZero() && during(k, outage{o.gone, time.Now()}) {
		return true
	}
	for _, away := range o.past {
		if during(k, away) {
			return true
		}
	}
	return false
}

// during reports whether a container ran when a span of time began, and ended in it.
func during(k Container, span outage) bool {
	return k.StartedAt.Before(span.from) && !k.FinishedAt.Before(span.from) && !k.FinishedAt.After(span.to)
}
