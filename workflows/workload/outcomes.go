package workload

import (
	"fmt"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// roomBackoff is the wait for room, plus jitter: the queue wakes who waits, this stands behind it.
const roomBackoff = 10 * time.Minute

// stableAfter is how long a deploy must have lasted for a repair to be done at once.
const stableAfter = time.Minute

// Begin opens an action with the next fence.
func (s *State) Begin(step Step, now time.Time) {
	d := &Doing{
		Kind: step.Action, Verb: step.Verb, Seq: s.WantedSeq, Fence: s.mint(now), Generation: s.Generation,
		Spec: s.Workload, RequestID: s.WantedBy, StartedAt: now, Try: s.Tries + 1,
		Relocate: step.Relocate, StopFirst: step.StopFirst, Leave: step.Leave, Remain: step.Remain,
	}
	if step.Action == v1.VerbDeploy {
		d.Attempt = step.Attempt
		d.Needs = contract.NeedsOf(s.Workload)
		s.noteVolumes()
	}
	d.Volumes = step.Action == v1.VerbRemove && s.DropVolumes
	s.Doing = d
	s.forgetAdopting()
}

// Placed records the grant of a host; only then is it bound.
func (s *State) Placed(p contract.PlaceOut) {
	switch {
	case s.Doing.Relocate && s.Placement != nil:
		s.leaveHome(p)
	case s.Placement == nil || s.Placement.Host != p.Host:
		s.Placement, s.Data, s.DataAt = &Placement{Host: p.Host}, nil, 0
		s.HostLost, s.HostForgotten, s.HostLease = false, false, 0
	}
	s.forgetRemain(p.Host) // what was left there is taken over
	s.Placement.Instance, s.Doing.Exact = p.Instance, p.Exact
	if p.Queued && s.WaitsSince.IsZero() {
		s.WaitsSince = s.Doing.StartedAt
	}
	s.leaveQueue()
}

// leaveQueue notes that the queue must be told that the workload waits no more.
func (s *State) leaveQueue() {
	if !s.WaitsSince.IsZero() {
		s.WaitsSince, s.Leaving = time.Time{}, s.Fence
	}
}

// Ledger is what the host's ledger must be told after an action: at most one of the two is set.
type Ledger struct {
	Host    string
	Settle  *contract.SettleRequest
	Release *contract.ReleaseRequest
}

// Succeeded closes the action and says what the ledger must be told.
func (s *State) Succeeded(out contract.StepOut, now time.Time) Ledger {
	d := s.Doing
	s.remember(nil, now)
	if d.Remain != "" {
		s.Doing = nil
		return s.removed(d)
	}
	s.Doing, s.Failure, s.Tries, s.NextTry = nil, nil, 0, time.Time{}
	if d.Leave {
		s.drained(now)
	} else {
		s.done(d.Seq)
	}
	switch d.Kind {
	case v1.VerbRemove:
		if !d.Leave {
			s.Stayed = out.Kept
		}
		return s.gone(d.Fence)
	case v1.VerbStop:
		s.leaveAttempt(d.Fence)
		s.closeAttempt(now)
		s.Deployed, s.Placement.Active = nil, false
		return s.settle(d.Fence, idle(contract.NeedsOf(s.Workload)))
	default:
		s.noteLostData(d, out.Made, now)
		s.moved(d)
		s.Placement.Mutated, s.Placement.Active = true, true
		s.Deployed = &Deployed{
			Generation: d.Generation, Fence: d.Fence, At: now, Attempt: d.Attempt,
			Addresses: out.Addresses, Ports: out.Ports, Needs: d.Needs,
		}
		s.startAttempt(d, out, now)
		s.absorb(now)
		if s.Deployed == nil {
			return s.settle(d.Fence, idle(d.Needs))
		}
		if d.Exact {
			return Ledger{} // the deploy bound its grant: the ledger is right as it is
		}
		return s.settle(d.Fence, d.Needs)
	}
}

// Failed closes the action with its failure and says what the ledger must be told.
func (s *State) Failed(e *contract.Error, now time.Time) Ledger {
	d := s.Doing
	s.remember(e, now)
	s.Doing = nil
	if d.Remain != "" {
		s.remainFailed(d.Remain, now)
		return Ledger{}
	}
	mutated := d.Kind != v1.VerbDeploy || !beforeMutation(e.Step)
	if s.Placement != nil && mutated {
		s.Placement.Mutated, s.Placement.Active = true, true
	}
	switch {
	case e.Reason == v1.ReasonSuperseded, s.WantedSeq > d.Seq:
		// A later request took over, or a job's deadline passed: that says what is next. A failure that came before the
		// cancel says nothing about what is wanted now.
	case e.Reason == v1.ReasonStaleFence && e.Seen >= d.Fence:
		s.Fence = max(s.Fence, e.Seen) // the host has seen later numbers: go on above them, at once
	case d.Leave, d.Relocate && !d.Gone:
		s.drainFailed(d, e, now)
		s.joinQueue(d, e)
	default:
		s.Tries++
		s.Failure = failure(e, now)
		s.NextTry = now.Add(max(s.pause(e, s.Tries), e.After))
		s.joinQueue(d, e)
	}
	if e.Step == contract.ActivityPlace && s.WaitsSince.IsZero() {
		s.Leaving = d.Fence // it may have been put into the queue before it failed
	}
	return s.ledgerAfterFailure(d, mutated)
}

// failure is how an error shows.
func failure(e *contract.Error, now time.Time) *v1.Failure {
	return &v1.Failure{
		Reason: e.Reason, Message: contract.Clip(e.Message, 600), Advice: contract.Clip(e.Advice, 200), Step: e.Step, Permanent: e.Permanent, At: now,
	}
}

// joinQueue notes that the placement put the workload into the queue.
func (s *State) joinQueue(d *Doing, e *contract.Error) {
	if e.Step == contract.ActivityPlace && waitsForRoom(e.Reason) && s.WaitsSince.IsZero() {
		s.WaitsSince = d.StartedAt
	}
}

// pause is how long to wait after the n-th failure in a row.
func (s *State) pause(e *contract.Error, n int) time.Duration {
	if e.Step == contract.ActivityPlace && waitsForRoom(e.Reason) && !e.Guess {
		return jitter(roomBackoff, s.Name, n)
	}
	return backoff(s.Timings, s.Name, n)
}

// waitsForRoom reports whether a refusal ends when some host gets room, or a runtime, or comes back.
func waitsForRoom(reason v1.Reason) bool {
	switch reason {
	case v1.ReasonNoCapacity, v1.ReasonNoMatchingHost, v1.ReasonHostOffline, v1.ReasonPortConflict, v1.ReasonRuntimeUnavailable:
		return true
	default:
		return false
	}
}

// ledgerAfterFailure gives back what the failed action held beyond what runs.
func (s *State) ledgerAfterFailure(d *Doing, mutated bool) Ledger {
	switch {
	case s.Placement == nil || d.Kind != v1.VerbDeploy:
		return Ledger{}
	case d.From != nil:
		return s.moveFailed(d, mutated)
	case d.Relocate && !d.Gone:
		return Ledger{} // it was not placed
	case !s.Placement.Mutated:
		return s.gone(d.Fence) // nothing was made there: the next try may go elsewhere
	case !mutated && s.Deployed != nil:
		return s.settle(d.Fence, s.Deployed.Needs) // the old one runs on
	case !mutated:
		return s.settle(d.Fence, idle(d.Needs))
	default:
		return s.settle(d.Fence, d.Needs) // half made: keep the room for the next try
	}
}

// gone forgets the host.
func (s *State) gone(fence int64) Ledger {
	l := Ledger{Host: s.Placement.Host, Release: &contract.ReleaseRequest{Workload: s.Name, Fence: fence}}
	s.Placement, s.Deployed, s.Drain = nil, nil, nil
	s.Removed = s.Wanted == WantRemoved && len(s.Remains) == 0
	return l
}

func (s *State) settle(fence int64, needs contract.Needs) Ledger {
	if s.Placement == nil {
		return Ledger{}
	}
	return Ledger{
		Host:   s.Placement.Host,
		Settle: &contract.SettleRequest{Workload: s.Name, Fence: fence, Needs: needs},
	}
}

// idle is what a stopped workload keeps: disks, ports and devices, but neither CPU nor memory.
func idle(n contract.Needs) contract.Needs {
	n.Amount.CPUs, n.Amount.Memory = 0, 0
	return n
}

// Note takes a transition that needs no action.
func (s *State) Note(step Step) Ledger {
	if step.Ended != nil {
		s.Ended = step.Ended
		if s.Deployed == nil || s.Ended.Reason == v1.ReasonDeadlineExceeded {
			return Ledger{}
		}
		return s.settle(s.Deployed.Fence, idle(s.Deployed.Needs))
	}
	s.done(s.WantedSeq)
	if s.Wanted == WantRemoved {
		s.Removed = true
	}
	return Ledger{}
}

// Observe takes what a host sees, if it is later than what was seen before. It reports whether anything changed.
func (s *State) Observe(o contract.Observation, now time.Time) bool {
	switch {
	case o.Sweep != nil:
		return s.missed(o, now)
	case o.Unrecorded != nil:
		return s.unrecorded(o, now)
	}
	if from := s.movingFrom(o.Host); from != nil && o.After(from.Seen) {
		from.Seen = o
		return true
	}
	if s.Placement == nil || s.Placement.Host != o.Host || o.Fence > s.Fence || !o.After(s.Seen) {
		return false
	}
	o.Findings = s.dated(o, now)
	s.forgetAdopting() // it has a record
	s.Seen, s.RestartAt = o, time.Time{}
	if o.RestartIn > 0 {
		s.RestartAt = now.Add(o.RestartIn)
	}
	if o.State == contract.RunExited && o.Exit != nil {
		s.LastExit = &LastExit{Fence: o.Fence, Exit: *o.Exit}
	}
	s.absorb(now)
	return true
}

// absorb acts on the latest observation once no action is open.
func (s *State) absorb(now time.Time) {
	if s.Doing != nil || s.Deployed == nil || s.Seen.Fence != s.Deployed.Fence {
		return
	}
	exact := s.Seen.Exact && !s.Seen.Down() // what is down keeps what it had, for when it is up again
	if exact || len(s.Seen.Addresses) > 0 {
		s.Deployed.Addresses = s.Seen.Addresses
	}
	if exact || len(s.Seen.Ports) > 0 {
		s.Deployed.Ports = s.Seen.Ports
	}
	if s.isJob() {
		s.endAttempt(now)
		return
	}
	if s.Seen.State == contract.RunAbsent && s.RepairOf != s.Deployed.Fence {
		s.planRepair(now)
	}
}

// planRepair says when what is gone from its host is made again: at once if it had lasted, else after a pause that grows. It is
// told of again under each lease, and counts once.
func (s *State) planRepair(now time.Time) {
	s.RepairOf = s.Deployed.Fence
	if now.Sub(s.Deployed.At) >= stableAfter {
		s.Repairs = 0
		return
	}
	s.Repairs++
	s.NextTry = now.Add(backoff(s.Timings, s.Name, s.Repairs))
}

// CameLate notes that a host refused a step of an action that is over. The open action's own steps say so in its result.
func (s *State) CameLate(l contract.LateStep, now time.Time) {
	if s.Doing != nil && s.Doing.Fence == l.Fence {
		return
	}
	s.AddCondition(v1.ReasonStaleFence, fmt.Sprintf("host %s refused a late %s: %s", l.Host, l.Step, l.Message), now)
}

// Woken tries at once what waits for room.
func (s *State) Woken() {
	if s.Failure != nil && !s.Failure.Permanent {
		s.NextTry = time.Time{}
	}
	if s.Drain != nil {
		s.Drain.NextTry = time.Time{}
	}
}

func beforeMutation(step string) bool {
	switch step {
	case contract.ActivityPlace, contract.ActivityBind, string(contract.StepPrepare), stepLeave:
		return true
	default:
		return false
	}
}

func exitMessage(e contract.Exit) string {
	text := fmt.Sprintf("exited with code %d", e.Code)
	switch e.Outcome {
	case v1.ReasonOutOfMemory:
		text = fmt.Sprintf("killed for want of memory (exit code %d)", e.Code)
	case v1.ReasonUnknown:
		text = "ended in an unknown way"
	default:
	}
	if e.Message != "" {
		text += ": " + contract.Clip(e.Message, 300)
	}
	return text
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
