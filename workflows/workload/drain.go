package workload

import (
	"fmt"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Drain is a host's wish that the workload leaves it. It holds while the workload is placed there.
type Drain struct {
	contract.HostDrain
	// Failure is why the last attempt to move failed. It is not the workload's own: what runs, runs on.
	Failure *v1.Failure `json:"failure,omitempty"`
	Tries   int         `json:"tries,omitempty"`
	// NextTry is when it tries to move again, LeaveAt when it tries again to leave without having moved.
	NextTry time.Time `json:"nextTry,omitzero"`
	LeaveAt time.Time `json:"leaveAt,omitzero"`
	// StopFirst is true if the copies can't run beside each other: the old one is removed before the new one starts.
	StopFirst bool `json:"stopFirst,omitempty"`
	// Answered is what the host was told last.
	Answered contract.DrainStanding `json:"answered,omitzero"`
}

// HostDrain takes what a host says of its drain. Later numbers win; a host that the workload is not on has nothing to say.
// During a move both hosts may be drained.
func (s *State) HostDrain(n contract.HostDrain) {
	drain, seen := s.drainOf(n.Host)
	if drain == nil || seen.Host == n.Host && n.Seq <= seen.Seq {
		return
	}
	*seen = DrainSeen{Host: n.Host, Seq: n.Seq}
	if n.Cancelled {
		*drain = nil
		if s.Failure == nil {
			s.leaveQueue()
		}
		return
	}
	if *drain == nil {
		*drain = &Drain{}
	}
	(*drain).HostDrain = n
	(*drain).NextTry, (*drain).LeaveAt = time.Time{}, time.Time{} // the terms are new: try at once
}

// drainOf returns where to keep what a host says of its drain: the workload's host, or the one that it is moving away from.
func (s *State) drainOf(host string) (**Drain, *DrainSeen) {
	if from := s.movingFrom(host); from != nil {
		return &from.Drain, &from.DrainSeen
	}
	if s.Placement != nil && s.Placement.Host == host {
		return &s.Drain, &s.DrainSeen
	}
	return nil, nil
}

// DrainSeen is the last that was heard of a host's drains.
type DrainSeen struct {
	Host string `json:"host,omitempty"`
	Seq  int64  `json:"seq,omitempty"`
}

// draining reports whether the workload is to leave the host that it is on.
func (s *State) draining() bool {
	return s.Drain != nil && s.Placement != nil && s.Placement.Host == s.Drain.Host
}

// heldByDrain reports whether the workload must wait for its host: its data is there, and the host is to run nothing.
func (s *State) heldByDrain() bool {
	return s.draining() && s.Workload.Pinned() && s.Placement.Mutated && !s.Placement.Active
}

// decideDrain says what to do to leave a host; leaves is false if there is nothing to do about it now.
func (s *State) decideDrain(now time.Time) (step Step, leaves bool) {
	if !s.draining() || s.HostLost || s.Wanted == WantRemoved {
		return Step{}, false
	}
	due := !s.Drain.StopAt.IsZero() && !now.Before(s.Drain.StopAt)
	switch {
	case s.Workload.Pinned():
		if s.heldByDrain() && s.Wanted == WantRunning {
			return Step{Kind: StepWait}, true
		}
		if due && s.Placement.Active && !s.Drain.Left {
			return actAt(s.Drain.LeaveAt, now, Step{Kind: StepAct, Action: v1.VerbStop, Verb: v1.VerbStop, Leave: true}), true
		}
		return Step{}, false
	case s.isJob() && s.Deployed != nil && !due:
		return Step{}, false // its attempt may end
	case s.isJob() && s.Job != nil && s.Job.Unacknowledged != nil:
		return Step{}, false // first its host drops the attempt that ended
	case s.isJob(), s.Wanted != WantRunning, s.Ended != nil, due && (s.Drain.Failure != nil || s.failedForGood()):
		return s.leave(now), true
	case s.Drain.Left && s.strict():
		return s.leave(now), true // the guard has stopped it there, or does
	case s.failedForGood():
		return Step{}, false // what is wanted can't be deployed anywhere; what runs, runs on
	case s.Drain.Left && s.stopsFirst():
		return Step{}, false // the old copy runs on unwatched, and nobody can stop it
	default:
		return actAt(s.Drain.NextTry, now, Step{
			Kind: StepAct, Action: v1.VerbDeploy, Verb: v1.VerbRelocate, Relocate: true, StopFirst: s.stopsFirst(),
		}), true
	}
}

func (s *State) failedForGood() bool { return s.Failure != nil && s.Failure.Permanent }

// leave gives up the place on the host, and removes what is there. A host whose agent has said goodbye owes the removal.
func (s *State) leave(now time.Time) Step {
	if s.Drain.Left {
		return actAt(s.EvictAt, now, Step{Kind: StepEvict})
	}
	return actAt(s.Drain.LeaveAt, now, Step{Kind: StepAct, Action: v1.VerbRemove, Verb: v1.VerbRelocate, Leave: true})
}

func actAt(at, now time.Time, step Step) Step {
	if now.Before(at) {
		return Step{Kind: StepWait, Until: at}
	}
	return step
}

// stopsFirst reports whether the old copy must be gone before the new one may start: always, if the workload is strict.
func (s *State) stopsFirst() bool { return s.Drain != nil && (s.Drain.StopFirst || s.strict()) }

func (s *State) strict() bool {
	c := s.Workload.Spec()
	return c != nil && c.Strict
}

// drainDue is when a drain stops what it could not move, or zero.
func (s *State) drainDue(now time.Time) time.Time {
	if !s.draining() || s.HostLost || !now.Before(s.Drain.StopAt) {
		return time.Time{}
	}
	return s.Drain.StopAt
}

// drainFailed takes a failure to move: it counts against the move, not against the workload.
func (s *State) drainFailed(d *Doing, e *contract.Error, now time.Time) {
	drain := s.Drain
	if d.From != nil {
		drain = d.From.Drain
	}
	if drain == nil {
		return
	}
	drain.Tries++
	drain.Failure = failure(e, now)
	again := now.Add(max(s.pause(e, drain.Tries), e.After))
	switch {
	case d.Leave:
		drain.LeaveAt = again
	case e.Reason == v1.ReasonPortConflict && e.Step != contract.ActivityPlace && !drain.StopFirst:
		drain.StopFirst, drain.NextTry = true, now // the hosts share a port: one after the other, then
	default:
		drain.NextTry = again
	}
}

// drained notes that nothing of the workload runs on the host any more.
func (s *State) drained(now time.Time) {
	if s.Wanted == WantRunning {
		s.Verb = v1.VerbRelocate
	}
	if !s.isJob() || s.Job == nil {
		return
	}
	s.closeAttemptAs(string(v1.ReasonInterrupted), now)
	if s.Ended == nil && s.Wanted == WantRunning && s.Job.Count >= s.maxAttempts() {
		s.Ended = &Ended{
			Phase: v1.PhaseFailed, Reason: v1.ReasonInterrupted,
			Message: fmt.Sprintf("its host was drained during attempt %d of %d", s.Job.Count, s.maxAttempts()),
		}
	}
}

// DrainStanding is what the host is to be told, if it has not been told yet.
func (s *State) DrainStanding() (a contract.DrainStanding, news bool) {
	if !s.draining() {
		return a, false
	}
	a = contract.DrainStanding{Workload: s.Name, Seq: s.Drain.Seq}
	a.Standing, a.Message = s.standing()
	if a == s.Drain.Answered {
		return a, false
	}
	s.Drain.Answered = a
	return a, true
}

func (s *State) standing() (v1.DrainStanding, string) {
	switch {
	case s.Doing != nil && (s.Doing.Relocate || s.Doing.Leave || s.Doing.Kind == v1.VerbRemove):
		return v1.DrainMoving, ""
	case s.HostLost:
		return v1.DrainWaiting, "the host is offline"
	case s.Workload.Pinned() && !s.Placement.Active:
		return v1.DrainStopped, "it does not run; its data stays here"
	case s.Workload.Pinned() && s.Drain.Left:
		return v1.DrainStaying, "its data is here, and the agent that could stop it is gone"
	case s.Workload.Pinned():
		return v1.DrainStaying, "its data is here"
	case s.isJob() && s.Deployed != nil:
		return v1.DrainStaying, "its attempt may end"
	case s.Drain.Left && s.strict():
		return v1.DrainWaiting, "until the host must have stopped it"
	case s.Drain.Left && s.stopsFirst():
		return v1.DrainStaying, "it must stop here before it starts elsewhere, and the agent that could stop it is gone"
	case s.failedForGood():
		return v1.DrainWaiting, "its spec can't be deployed: " + contract.Clip(s.Failure.Message, 120)
	case s.Drain.Failure != nil:
		return v1.DrainWaiting, contract.Clip(string(s.Drain.Failure.Reason)+": "+s.Drain.Failure.Message, 160)
	default:
		return v1.DrainMoving, ""
	}
}

// drainPhase is how a drain shows in a workload that runs, or waits for its host.
func (s *State) drainPhase() (reason v1.Reason, message string) {
	if !s.draining() {
		return v1.ReasonNone, ""
	}
	standing, why := s.standing()
	message = fmt.Sprintf("host %s is drained", s.Placement.Host)
	switch {
	case s.heldByDrain():
		message += "; its data is there, so it starts again when the host is uncordoned"
	case why != "":
		message += fmt.Sprintf(" (%s: %s)", standing, why)
	}
	return v1.ReasonHostDraining, message
}
