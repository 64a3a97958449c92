package container

import (
	"context"
	"time"
)

const (
	// maxTimes bounds of how many containers something is remembered.
	maxTimes = 4096
	// signalled is from where exit codes tell of a signal, killedCode that of the one that can't be caught.
	signalled  = 128
	killedCode = 137
	// hearsay is how long after its end a container that a signal ended is waited for news of who sent it: the engine tells of
	// the end and of its cause in no particular order. The cause is timed when it is told of, up to tellSlack after the fact.
	hearsay   = 500 * time.Millisecond
	tellSlack = time.Second
	tellPoll  = 20 * time.Millisecond
	// oomSlack is how far apart the end and the news of a want of memory may be.
	oomSlack = 5 * time.Second
)

// times are when something was last heard of containers, by their ids. The oldest are forgotten first.
type times map[string]time.Time

func (t times) note(id string, at time.Time) {
	if _, again := t[id]; !again && len(t) >= maxTimes {
		oldest := id
		for other, when := range t {
			if first, ok := t[oldest]; !ok || when.Before(first) {
				oldest = other
			}
		}
		delete(t, oldest)
	}
	t[id] = at
}

func (o *outside) killed(id string, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kills.note(id, at)
}

// starved notes that a container's process was killed for want of memory. It reports false if that was heard just before.
func (o *outside) starved(id string, at time.Time) (news bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	last, again := o.ooms[id]
	if again && at.Sub(last) < tellSlack {
		return false
	}
	o.ooms.note(id, at)
	return true
}

// ranOut reports whether a container was killed for want of memory. An engine that hears of it after the end does not say
// so in the container's state.
func (o *outside) ranOut(k Container) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ok := o.ooms[k.ID]
	return ok && k.ExitCode == killedCode && k.StartedAt.Before(at) && k.FinishedAt.Sub(at).Abs() < oomSlack
}

// await waits a moment if a signal has just ended a container and nobody knows yet who sent it.
func (o *outside) await(ctx context.Context, k Container) {
	wait := hearsay - time.Since(k.FinishedAt)
	if k.ExitCode <= signalled || k.ExitCode == lostCode || k.OutOfMemory || wait <= 0 {
		return
	}
	over, look := time.NewTimer(min(wait, hearsay)), time.NewTicker(tellPoll)
	defer over.Stop()
	defer look.Stop()
	for !o.ended(k) && !o.ranOut(k) {
		select {
		case <-look.C:
		case <-over.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// followed reports whether a container ran when something happened to it, and ended because of that within some time. It
// may have ended a moment before that was told.
func followed(k Container, at time.Time, within time.Duration) bool {
	return k.StartedAt.Before(at) && !k.FinishedAt.Before(at.Add(-tellSlack)) && !k.FinishedAt.After(at.Add(within))
}
