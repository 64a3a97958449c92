package workload

import (
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// lateness is how late a move's timer may fire. Later than that, the control plane itself was away, and hosts that are
	// well had no chance to say so: the wait starts anew.
	lateness = 5 * time.Second
	// evictAgain is the pause before a host that refused, or did not answer, is asked again.
	evictAgain = 10 * time.Second
)

// decideLost says what to do about a host that is away; lost is false if there is nothing to do about it.
func (s *State) decideLost(now time.Time) (step Step, lost bool) {
	if s.Placement == nil {
		return Step{}, false
	}
	if s.forces() {
		if now.Before(s.EvictAt) {
			return Step{Kind: StepWait, Until: s.EvictAt}, true
		}
		return Step{Kind: StepEvict}, true
	}
	due, moves := s.moveDue()
	switch {
	case !moves:
		return Step{}, false
	case now.Before(due):
		return Step{Kind: StepWait, Until: due}, true
	case now.Sub(due) > lateness && s.EvictAt.IsZero():
		return Step{Kind: StepWaitAnew}, true
	case now.Before(s.EvictAt):
		return Step{Kind: StepWait, Until: s.EvictAt}, true
	default:
		return Step{Kind: StepEvict}, true
	}
}

// forces reports whether a forced remove is to ask the host's ledger, and mayForce whether it is to do so now.
func (s *State) forces() bool {
	return s.Force && s.Wanted == WantRemoved && s.Placement != nil && !s.Evicting
}

func (s *State) mayForce(now time.Time) bool { return s.forces() && !now.Before(s.EvictAt) }

// moveDue is when the workload moves because its host is lost, if it does.
func (s *State) moveDue() (time.Time, bool) {
	after, moves := s.Workload.MovesAfter()
	if !moves || !s.HostLost || s.Placement == nil || s.Wanted != WantRunning || s.Ended != nil {
		return time.Time{}, false
	}
	return s.LostAt.Add(max(after, s.Timings.Grace)), true
}

// graceBegins is when the last stretch of the wait for a lost host begins; pending is true if it has yet to. Without it a
// control plane that was away until just before the move would move what is well: a timer that is set before it goes away and
// fires after it is back is not late.
func (s *State) graceBegins() (at time.Time, pending bool) {
	due, moves := s.moveDue()
	if !moves || s.LostGrace == 0 {
		return time.Time{}, false
	}
	if at = due.Add(-s.LostGrace); at.Before(s.LostAt) {
		at = s.LostAt
	}
	return at, s.GraceAt.Before(at)
}

// decideGrace begins that stretch when it is time. If it is too late for that, the control plane was away.
func (s *State) decideGrace(now time.Time) (step Step, due bool) {
	at, pending := s.graceBegins()
	switch {
	case !pending || now.Before(at):
		return Step{}, false
	case now.Sub(at) > lateness:
		return Step{Kind: StepWaitAnew}, true
	default:
		return Step{Kind: StepGrace}, true
	}
}

// BeginGrace notes that the last stretch of the wait for a lost host has begun.
func (s *State) BeginGrace(now time.Time) { s.GraceAt = now }

// WaitAnew starts the wait for a lost host anew.
func (s *State) WaitAnew(now time.Time) { s.LostAt, s.GraceAt = now, time.Time{} }

// Evicted records that a host let the workload go, or why not. What still runs there is the host's debt. The host is the
// workload's own unless remain names one.
func (s *State) Evicted(remain string, reply contract.EvictReply, err error, now time.Time) {
	s.Evicting = false
	if remain != "" {
		s.remainEvicted(remain, reply, err, now)
		return
	}
	if err == nil && reply.Wait > 0 {
		s.EvictAt = now.Add(reply.Wait)
		return
	}
	if err != nil || reply.Refused != "" {
		s.EvictAt = now.Add(evictAgain)
		// A host that is there after all does not need force: an ordinary remove will do.
		s.Force = s.Force && reply.Refused == ""
		return
	}
	s.EvictAt = time.Time{}
	s.closeAttemptAs(string(v1.ReasonHostLost), now)
	s.unacknowledgeable()
	host := s.Placement.Host
	s.Placement, s.Deployed, s.Drain, s.HostLost, s.HostForgotten = nil, nil, nil, false, false
	s.Failure, s.Tries, s.NextTry = nil, 0, time.Time{}
	if s.Wanted != WantRunning || s.Ended != nil {
		s.Removed = s.Wanted == WantRemoved && len(s.Remains) == 0
		return
	}
	if s.isJob() && s.Job != nil && s.Job.Count >= s.maxAttempts() {
		s.Ended = &Ended{Phase: v1.PhaseFailed, Reason: v1.ReasonHostLost, Message: "host " + host + " was lost during the last attempt"}
		return
	}
	s.Verb = v1.VerbRelocate
}

// HostLostOrBack follows the host's lease; news of an earlier lease is ignored.
func (s *State) HostLostOrBack(n contract.HostStatus, lost bool, now time.Time) {
	if from := s.movingFrom(n.Host); from != nil && n.LeaseNo >= from.HostLease {
		from.HostLease, from.HostLost, from.HostForgotten = n.LeaseNo, lost, lost && n.Forgotten
		from.LostAt, from.LostGrace, from.GraceAt = now, n.Grace, time.Time{}
		return
	}
	if r := s.remain(n.Host); r != nil {
		r.Away = lost
		return
	}
	if s.Placement == nil || s.Placement.Host != n.Host || n.LeaseNo < s.HostLease {
		return
	}
	if lost && (!s.HostLost || n.LeaseNo > s.HostLease) {
		// A later lease ended: the host was there in between.
		s.LostAt, s.LostGrace, s.GraceAt = now, n.Grace, time.Time{}
	}
	s.HostLease, s.HostLost, s.HostForgotten = n.LeaseNo, lost, lost && n.Forgotten
	if !lost {
		s.EvictAt = time.Time{}
		s.Woken()
	}
}
