package workload

import (
	"fmt"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	outcomeSucceeded = "Succeeded"
	outcomeFailed    = "Failed"
)

// startAttempt records that a job's attempt has started.
func (s *State) startAttempt(d *Doing, out contract.StepOut, now time.Time) {
	if !s.isJob() {
		return
	}
	if s.Job == nil {
		s.Job = &Job{}
	}
	s.closeAttempt(now)
	started := out.StartedAt
	if started.IsZero() {
		started = now
	}
	if s.Job.StartedAt.IsZero() {
		s.Job.StartedAt = started
	}
	s.Job.Numbered = d.Attempt
	s.Job.Count++
	s.Job.Attempts = append(s.Job.Attempts, v1.Attempt{Number: d.Attempt, Fence: d.Fence, Host: s.Placement.Host, StartedAt: started})
	if n := len(s.Job.Attempts) - keepAttempts; n > 0 {
		s.Job.Attempts = s.Job.Attempts[n:]
	}
	if out.Exit != nil && s.Seen.Fence < d.Fence {
		// It had ended before the deploy was done: what the step saw is an observation.
		s.Seen = contract.Observation{
			Host: s.Placement.Host, Fence: d.Fence, Attempt: d.Attempt, State: contract.RunExited, Exit: out.Exit,
		}
	}
}

// endAttempt records how the current attempt ended, and whether the job has.
func (s *State) endAttempt(now time.Time) {
	exit := s.Seen.Exit
	switch s.Seen.State {
	case contract.RunAbsent:
		// It was started, and is gone: nobody can know how it ended, and it counts.
		exit = &contract.Exit{Code: -1, Outcome: v1.ReasonUnknown, At: now, Message: "the attempt is gone from its host; how it ended is unknown"}
	case contract.RunExited:
	default:
		return
	}
	if exit == nil || s.Job == nil || len(s.Job.Attempts) == 0 {
		return
	}
	a := &s.Job.Attempts[len(s.Job.Attempts)-1]
	if a.Fence != s.Deployed.Fence || a.EndedAt != nil {
		return
	}
	at, code := exit.At, exit.Code
	a.EndedAt, a.ExitCode, a.Outcome = &at, &code, attemptOutcome(*exit)
	s.toAcknowledge(a.Fence, a.Number)
	s.Deployed, s.Placement.Active = nil, false
	switch {
	case a.Outcome == outcomeSucceeded:
		s.Ended = &Ended{Phase: v1.PhaseSucceeded, Reason: v1.ReasonNone, Message: exitMessage(*exit), Code: &code}
	case s.Job.Count >= s.maxAttempts():
		s.Ended = &Ended{
			Phase: v1.PhaseFailed, Reason: exit.Outcome, Code: &code,
			Message: fmt.Sprintf("%s; attempt %d of %d", exitMessage(*exit), s.Job.Count, s.maxAttempts()),
		}
	default:
		s.NextTry = now.Add(backoff(s.Timings, s.Name, s.Job.Count))
	}
}

// closeAttempt ends an attempt that something else took the place of.
func (s *State) closeAttempt(now time.Time) {
	outcome := string(v1.ReasonSuperseded)
	if s.Ended != nil {
		outcome = string(s.Ended.Reason)
	}
	s.closeAttemptAs(outcome, now)
}

// leaveAttempt lets the host drop what is left of an attempt that a deadline ended, under the fence of the stop.
func (s *State) leaveAttempt(fence int64) {
	if s.Ended == nil || s.Job == nil || len(s.Job.Attempts) == 0 {
		return
	}
	if a := s.Job.Attempts[len(s.Job.Attempts)-1]; a.EndedAt == nil {
		s.toAcknowledge(fence, a.Number)
	}
}

// toAcknowledge notes that the host is to drop an attempt that ended.
func (s *State) toAcknowledge(fence int64, number int) {
	s.Job.Unacknowledged, s.Job.Acknowledging = &Attempt{Fence: fence, Number: number}, false
	s.Job.AckTries, s.Job.AckAt = 0, time.Time{}
}

func (s *State) closeAttemptAs(outcome string, now time.Time) {
	if s.Job == nil || len(s.Job.Attempts) == 0 {
		return
	}
	if a := &s.Job.Attempts[len(s.Job.Attempts)-1]; a.EndedAt == nil {
		a.EndedAt, a.Outcome = &now, outcome
	}
}

func (s *State) maxAttempts() int {
	if c := s.Workload.Spec(); c.Job != nil && c.Job.MaxAttempts > 0 {
		return c.Job.MaxAttempts
	}
	return 1
}

// Acknowledge begins to let the host drop the ended attempt. What has ended takes no CPU and memory any more.
func (s *State) Acknowledge() Ledger {
	s.Job.Acknowledging = true
	return s.settle(s.Job.Unacknowledged.Fence, idle(contract.NeedsOf(s.Workload)))
}

// unacknowledgeable notes that the host of an ended attempt was given up: it is not waited for, and owes the removal.
func (s *State) unacknowledgeable() {
	if s.Job != nil {
		s.Job.Unacknowledged, s.Job.Acknowledging = nil, false
	}
}

// Acknowledged notes that the host dropped an ended attempt, or that it could not be asked. It says nothing once nobody waits
// for it any more.
func (s *State) Acknowledged(a Attempt, err error, now time.Time) {
	if s.Job.Unacknowledged == nil || *s.Job.Unacknowledged != a {
		return
	}
	s.Job.Acknowledging = false
	if err == nil {
		s.Job.Unacknowledged = nil
		return
	}
	s.Job.AckTries++
	s.Job.AckAt = now.Add(backoff(s.Timings, s.Name, s.Job.AckTries))
}

func attemptOutcome(e contract.Exit) string {
	switch {
	case e.Outcome == v1.ReasonExited && e.Code == 0:
		return outcomeSucceeded
	case e.Outcome == v1.ReasonExited:
		return outcomeFailed
	default:
		return string(e.Outcome)
	}
}
