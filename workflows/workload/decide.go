package workload

import (
	"hash/fnv"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// StepKind is what the entity does next.
type StepKind string

// The steps that decide can answer with.
const (
	// StepWait sleeps until a message comes, or until Until if it is set.
	StepWait StepKind = "wait"
	// StepAct starts an action.
	StepAct StepKind = "act"
	// StepCancel cancels the open action, because a later request supersedes it.
	StepCancel StepKind = "cancel"
	// StepGiveUp tells the open action, which is cancelled, not to wait for its host.
	StepGiveUp StepKind = "give-up"
	// StepAcknowledge lets the host drop a job's ended attempt.
	StepAcknowledge StepKind = "acknowledge"
	// StepAdopt gives the host the record that it has lost.
	StepAdopt StepKind = "adopt"
	// StepNote takes the transition in Ended or Done without an action.
	StepNote StepKind = "note"
	// StepEvict asks the host's ledger to let the workload go, because the host is away.
	StepEvict StepKind = "evict"
	// StepWaitAnew starts the wait for a lost host anew.
	StepWaitAnew StepKind = "wait-anew"
	// StepGrace begins the last stretch of that wait.
	StepGrace StepKind = "grace"
	// StepClose ends the workflow.
	StepClose StepKind = "close"
)

// Step is decide's answer.
type Step struct {
	Kind StepKind
	// Until bounds a wait.
	Until time.Time
	// Action and Verb, with StepAct: deploy, stop or remove, and in which words.
	Action v1.Verb
	Verb   v1.Verb
	// Attempt is a job's next attempt, with a deploy.
	Attempt int
	// Relocate, with a deploy, places it on another host than its own. StopFirst removes the old copy before the new one starts.
	Relocate  bool
	StopFirst bool
	// Leave, with a stop or a remove, is for the sake of the host, which is drained: what is wanted stays as it is.
	Leave bool
	// Remain, with a remove or StepEvict, is a host that the workload is on no more, and where something was left behind.
	Remain string
	// Away, with StepCancel: the action waits for a host that is away, and shall not.
	Away bool
	// Ended, with StepNote: the workload ended in this way. Without it, the wanted state holds already.
	Ended *Ended
}

// decide says what to do next. It is pure: the same state and time give the same answer.
func (s *State) decide(now time.Time) Step {
	if step, due := s.decideGrace(now); due {
		return step
	}
	step := s.decideNow(now)
	if at, pending := s.graceBegins(); pending && step.Kind == StepWait {
		step.Until = earlier(step.Until, at)
	}
	return step
}

// decideNow is decide without the watch over a lost host. What was left behind on other hosts is removed when nothing else is
// to be done.
func (s *State) decideNow(now time.Time) Step {
	switch {
	case s.Doing != nil:
		return s.decideDoing(now)
	case s.Removed:
		return Step{Kind: StepClose}
	case s.Evicting:
		return Step{Kind: StepWait}
	}
	step := s.decideIdle(now)
	if step.Kind != StepWait {
		return step
	}
	if s.adoptDue() {
		return Step{Kind: StepAdopt}
	}
	behind := s.decideRemains(now)
	behind.Until = earlier(behind.Until, earlier(step.Until, s.drainDue(now)))
	return behind
}

// decideIdle says what is to be done for the workload itself while no action is open.
func (s *State) decideIdle(now time.Time) Step {
	if step, lost := s.decideLost(now); lost {
		return step
	}
	if step, leaves := s.decideDrain(now); leaves {
		return step
	}
	switch s.Wanted {
	case WantRemoved:
		switch {
		case s.Placement != nil:
			return s.act(now, v1.VerbRemove, s.Verb)
		case len(s.Remains) > 0:
			return Step{Kind: StepWait}
		}
		return Step{Kind: StepNote}
	case WantStopped:
		switch {
		case s.DoneSeq >= s.WantedSeq:
			return Step{Kind: StepWait}
		case s.Placement == nil:
			return Step{Kind: StepNote}
		}
		return s.act(now, v1.VerbStop, s.Verb)
	default:
		if s.isJob() {
			return s.decideJob(now)
		}
		return s.decideService(now)
	}
}

// decideDoing watches over the open action.
func (s *State) decideDoing(now time.Time) Step {
	if s.Doing.Cancelled {
		if s.actsInVain() {
			return Step{Kind: StepGiveUp}
		}
		return Step{Kind: StepWait}
	}
	if s.Doing.Remain != "" {
		return s.decideCleaning(now)
	}
	if s.HostLost && (s.Doing.From != nil || s.Doing.Leave) {
		return Step{Kind: StepCancel} // a drain does not wait for a host that went away
	}
	if s.drainsInVain() {
		return Step{Kind: StepCancel, Away: true}
	}
	if s.WantedSeq > s.Doing.Seq && s.Doing.Kind != v1.VerbRemove {
		return Step{Kind: StepCancel}
	}
	if s.Doing.Kind == v1.VerbRemove && (s.mayForce(now) || s.DropVolumes && !s.Doing.Volumes) {
		return Step{Kind: StepCancel} // a later remove takes more away, or waits no more
	}
	if due, moves := s.moveDue(); moves && s.Doing.Kind == v1.VerbDeploy {
		if !now.Before(due) {
			return Step{Kind: StepCancel}
		}
		return Step{Kind: StepWait, Until: due}
	}
	if at := s.deadline(); !at.IsZero() && s.Doing.Kind == v1.VerbDeploy {
		if !now.Before(at) {
			return Step{Kind: StepCancel}
		}
		return Step{Kind: StepWait, Until: at}
	}
	return Step{Kind: StepWait}
}

// actsInVain reports whether the open action works on a host that is lost, and has not been told so yet.
func (s *State) actsInVain() bool {
	d := s.Doing
	if d.GivenUp {
		return false
	}
	if d.LaunchedAt.IsZero() {
		from := s.leaving()
		return from != nil && from.HostLost
	}
	if r := s.remain(d.Remain); r != nil {
		return r.Away
	}
	return s.HostLost
}

func (s *State) decideService(now time.Time) Step {
	if s.Ended != nil {
		return Step{Kind: StepWait}
	}
	if s.Deployed == nil || s.DoneSeq < s.WantedSeq {
		return s.act(now, v1.VerbDeploy, s.Verb)
	}
	if s.HostLost || s.Seen.Fence != s.Deployed.Fence {
		return Step{Kind: StepWait}
	}
	switch s.Seen.State {
	case contract.RunAbsent:
		return s.act(now, v1.VerbDeploy, v1.VerbDeploy) // a repair
	case contract.RunExited:
		if s.Seen.Exit != nil && !contract.RestartsAfter(s.Workload.Spec().Restart, *s.Seen.Exit, s.Seen.Restarts) {
			return Step{Kind: StepNote, Ended: endedService(*s.Seen.Exit, s.Seen.Restarts)}
		}
	default:
	}
	return Step{Kind: StepWait}
}

func (s *State) decideJob(now time.Time) Step {
	if s.Job != nil && s.Job.Unacknowledged != nil && !s.HostLost {
		if s.Job.Acknowledging {
			return Step{Kind: StepWait}
		}
		if now.Before(s.Job.AckAt) {
			return Step{Kind: StepWait, Until: s.Job.AckAt}
		}
		return Step{Kind: StepAcknowledge}
	}
	if s.Ended != nil {
		if s.Ended.Reason == v1.ReasonDeadlineExceeded && s.Placement != nil && s.Placement.Active {
			return s.act(now, v1.VerbStop, v1.VerbStop)
		}
		return Step{Kind: StepWait}
	}
	at := s.deadline()
	if !at.IsZero() && !now.Before(at) {
		return Step{Kind: StepNote, Ended: &Ended{
			Phase: v1.PhaseFailed, Reason: v1.ReasonDeadlineExceeded, Message: "the job's deadline has passed",
		}}
	}
	if s.Deployed != nil && s.DoneSeq >= s.WantedSeq {
		return Step{Kind: StepWait, Until: at} // an attempt runs
	}
	step := s.act(now, v1.VerbDeploy, s.Verb)
	step.Attempt = 1
	if s.Job != nil {
		step.Attempt = s.Job.Numbered + 1
	}
	if step.Kind == StepWait && !at.IsZero() && (step.Until.IsZero() || at.Before(step.Until)) {
		step.Until = at
	}
	return step
}

// deadline is when a job must have ended, or zero.
func (s *State) deadline() time.Time {
	c := s.Workload.Spec()
	if !s.isJob() || c.Job == nil || c.Job.Deadline == 0 || s.Job == nil || s.Job.StartedAt.IsZero() {
		return time.Time{}
	}
	return s.Job.StartedAt.Add(c.Job.Deadline.D())
}

// act starts an action, unless the last failure says to wait.
func (s *State) act(now time.Time, action, verb v1.Verb) Step {
	if s.failedForGood() {
		return Step{Kind: StepWait}
	}
	if now.Before(s.NextTry) {
		return Step{Kind: StepWait, Until: s.NextTry}
	}
	return Step{Kind: StepAct, Action: action, Verb: verb}
}

// endedService says what an exit that is not followed by a restart means for a service.
func endedService(exit contract.Exit, restarts int) *Ended {
	e := &Ended{Phase: v1.PhaseFailed, Reason: exit.Outcome, Message: exitMessage(exit), Code: &exit.Code}
	if exit.Code == 0 && exit.Outcome == v1.ReasonExited {
		e.Phase = v1.PhaseStopped
	}
	if restarts > 0 {
		e.Message += ", after " + plural(restarts, "restart")
	}
	return e
}

// backoff is how long to wait after the n-th failure in a row: doubling between the bounds, plus up to a quarter of jitter
// that depends on the name and n alone.
func backoff(t contract.Timings, name string, n int) time.Duration {
	d := t.BackoffMin
	for i := 1; i < n && d < t.BackoffMax; i++ {
		d *= 2
	}
	return jitter(min(d, t.BackoffMax), name, n)
}

// jitter adds up to a quarter to a pause, depending on the name and n alone.
func jitter(d time.Duration, name string, n int) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	_, _ = h.Write([]byte{byte(n), byte(n >> 8)})
	return d + time.Duration(int64(d/4)*int64(h.Sum32()%1024)/1024)
}
