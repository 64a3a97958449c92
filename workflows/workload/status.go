package workload

import (
	"fmt"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Status is the state as users see it. It fits the memo's 2 KB.
func (s *State) Status(now time.Time) v1.Status {
	st := v1.Status{
		Generation: s.Generation, Fence: s.Fence, SpecDigest: s.Digest,
		CreatedAt: s.CreatedAt, Tries: s.Tries, Conditions: s.conditions(), Restarts: s.restarts(),
	}
	st.Seq, st.Settled = s.Seq, s.visible() == nil && s.DoneSeq >= s.WantedSeq
	if c := s.Workload.Spec(); c != nil {
		st.Type = c.Type
	}
	if s.Placement != nil {
		st.Host = s.Placement.Host
	}
	if d, seen := s.runs(); d != nil {
		at := d.At
		st.RunningGeneration, st.StartedAt = d.Generation, &at
		if seen.Fence != d.Fence || !seen.Exact || !seen.Down() {
			st.Addresses, st.Ports = clipList(d.Addresses, 4), clipList(d.Ports, 16)
		}
	}
	if s.Job != nil {
		st.Attempt = s.Job.Numbered
	}
	if s.Doing != nil {
		st.Action = &v1.ActionRef{
			ID: contract.ActionID(s.Name, s.Doing.Kind, s.Doing.Fence), Verb: s.Doing.Verb, StartedAt: s.Doing.StartedAt,
		}
	}
	st.Phase, st.Reason, st.Message = s.phase()
	if s.Failure != nil {
		st.Reason, st.Message, st.Advice = s.Failure.Reason, s.Failure.Message, s.Failure.Advice
		st.Permanent = s.Failure.Permanent && s.Doing == nil
	}
	if at := s.nextTry(); now.Before(at) {
		st.NextTry = &at
	}
	s.explainLoss(&st)
	if due, moves := s.moveDue(); moves {
		st.NextTry = &due
	}
	if s.Ended != nil {
		st.ExitCode, st.Permanent = s.Ended.Code, st.Phase == v1.PhaseFailed
	}
	if s.Shown != st.Phase {
		s.Shown, s.ChangedAt = st.Phase, now
	}
	st.ChangedAt = s.ChangedAt
	return st
}

// nextTry is when the workload is tried again, by its host or by an action, if that is known.
func (s *State) nextTry() time.Time {
	switch {
	case s.Doing != nil:
		return time.Time{}
	case s.Failure != nil:
		if s.Failure.Permanent {
			return time.Time{}
		}
		return s.NextTry
	case s.Wanted != WantRunning || s.Ended != nil || s.HostLost:
		return time.Time{}
	case s.Deployed == nil:
		return s.NextTry // a job's next attempt
	case s.Seen.Fence != s.Deployed.Fence:
		return time.Time{}
	}
	switch s.Seen.State {
	case contract.RunExited:
		return s.RestartAt
	case contract.RunAbsent:
		return s.NextTry
	default:
		return time.Time{}
	}
}

// runs is the deploy that runs, and what was last seen there: during a move on the host that is left.
func (s *State) runs() (*Deployed, contract.Observation) {
	if s.Deployed == nil && s.Doing != nil && s.Doing.From != nil {
		return s.Doing.From.Deployed, s.Doing.From.Seen
	}
	return s.Deployed, s.Seen
}

// visible is the open action, unless it is only for the sake of a host and changes nothing that a user wants.
func (s *State) visible() *Doing {
	if s.Doing == nil || s.Doing.Remain != "" || s.Doing.Leave && (s.Wanted != WantRunning || s.Ended != nil) {
		return nil
	}
	return s.Doing
}

// restarts are those since the last deploy: what was seen of an earlier one does not count.
func (s *State) restarts() int {
	if s.Deployed != nil && s.Seen.Fence != s.Deployed.Fence {
		return 0
	}
	return s.Seen.Restarts
}

// phase says where the workload stands, from the open action, else from how the last one ended and what was seen since.
func (s *State) phase() (v1.Phase, v1.Reason, string) {
	doing := s.visible()
	switch {
	case s.Removed:
		return v1.PhaseRemoved, v1.ReasonNone, s.stayedMessage()
	case s.Wanted == WantRemoved:
		return v1.PhaseRemoving, s.awaited(), s.awaitedMessage()
	case doing != nil && (doing.Kind == v1.VerbStop || doing.Leave):
		return v1.PhaseStopping, s.awaited(), s.awaitedMessage()
	case doing != nil:
		return v1.PhaseDeploying, s.awaited(), s.awaitedMessage()
	case s.Wanted == WantStopped && s.DoneSeq >= s.WantedSeq:
		return v1.PhaseStopped, v1.ReasonUserStopped, ""
	case s.Wanted == WantStopped:
		return v1.PhaseStopping, v1.ReasonNone, ""
	case s.Ended != nil:
		return s.Ended.Phase, s.Ended.Reason, s.Ended.Message
	case s.HostLost && s.Deployed != nil:
		return v1.PhaseLost, v1.ReasonHostLost, s.lossMessage("what ran there may still run")
	case s.heldByDrain():
		reason, message := s.drainPhase()
		return v1.PhasePending, reason, message
	case s.Failure != nil && s.Deployed != nil:
		return v1.PhaseDegraded, s.Failure.Reason, s.Failure.Message // the old generation runs on
	case s.Failure != nil && s.Failure.Step == contract.ActivityPlace && !s.Failure.Permanent:
		return v1.PhasePending, s.Failure.Reason, s.Failure.Message // it waits for room on its host
	case s.Failure != nil && (s.Failure.Permanent || s.Placement != nil):
		return v1.PhaseFailed, s.Failure.Reason, s.Failure.Message
	case s.Deployed != nil:
		return s.seenPhase()
	case s.Job != nil && s.Job.Count > 0:
		return v1.PhasePending, v1.ReasonNone, fmt.Sprintf("attempt %d of %d is next", s.Job.Count+1, s.maxAttempts())
	default:
		return v1.PhasePending, v1.ReasonNone, ""
	}
}

// awaited is HostLost while an action waits for its host to come back.
func (s *State) awaited() v1.Reason {
	if s.HostLost && s.Placement != nil {
		return v1.ReasonHostLost
	}
	return v1.ReasonNone
}

func (s *State) awaitedMessage() string {
	if s.awaited() == v1.ReasonNone {
		return ""
	}
	if s.Doing != nil && s.Doing.From != nil {
		return s.lossMessage("the move there is given up; what runs on host " + s.Doing.From.Placement.Host + " runs on")
	}
	return s.lossMessage("it goes on when the host is back")
}

// lossMessage says what became of the host.
func (s *State) lossMessage(what string) string {
	if s.HostForgotten {
		return fmt.Sprintf("host %s was forgotten; %s", s.Placement.Host, what)
	}
	return fmt.Sprintf("host %s is offline; %s", s.Placement.Host, what)
}

// explainLoss says of a workload whose host was given up what can be done about it: nobody waits for that host any more.
func (s *State) explainLoss(st *v1.Status) {
	if !s.HostForgotten || s.Placement == nil || st.Reason != v1.ReasonHostLost && st.Reason != v1.ReasonHostOffline {
		return
	}
	st.Reason = v1.ReasonHostLost
	what := "what ran there may still run"
	if s.Workload.Pinned() {
		what = "its volumes and disks are there"
	}
	st.Message = s.lossMessage(what)
	st.Advice = fmt.Sprintf("if the machine comes back: berth adopt %s; else give the workload up with berth delete --force %s, and apply it again",
		s.Placement.Host, s.Name)
}

// seenPhase is where a deployed workload stands by the latest observation.
func (s *State) seenPhase() (v1.Phase, v1.Reason, string) {
	if s.Seen.Fence != s.Deployed.Fence {
		reason, message := s.drainPhase()
		return v1.PhaseRunning, reason, message
	}
	switch s.Seen.State {
	case contract.RunUnhealthy:
		return v1.PhaseDegraded, v1.ReasonUnhealthy, contract.Clip(s.Seen.Message, 300)
	case contract.RunExited:
		message := "its host starts it again"
		if s.recordMissing() {
			message = "its host has no record of it, and does not start it again"
		}
		reason := v1.ReasonExited
		if s.Seen.Exit != nil {
			message, reason = exitMessage(*s.Seen.Exit)+"; "+message, s.Seen.Exit.Outcome
		}
		return v1.PhaseDegraded, reason, message
	case contract.RunAbsent:
		message := "it is gone from its host and is made again"
		if s.Repairs > 1 {
			message += fmt.Sprintf("; it has gone %d times in a row", s.Repairs)
		}
		return v1.PhaseDegraded, v1.ReasonNotFound, message
	default:
		reason, message := s.drainPhase()
		if last := s.LastExit; message == "" && last != nil && last.Fence == s.Deployed.Fence && s.Seen.Restarts > 0 {
			message = fmt.Sprintf("%s since it was deployed; the last time it %s", plural(s.Seen.Restarts, "restart"), exitMessage(last.Exit))
		}
		return v1.PhaseRunning, reason, message
	}
}

func clipList(list []string, n int) []string {
	if len(list) > n {
		return list[:n]
	}
	return list
}
