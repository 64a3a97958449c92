package workload

import (
	"errors"
	"strconv"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Apply records a spec that the user wants to run. An unchanged spec is a repeat: it starts what was stopped, and leaves
// everything else as it is.
func (s *State) Apply(req contract.ApplyRequest, now time.Time) (contract.Accepted, error) {
	if a, ok := s.answered(req.RequestID); ok {
		return a, nil
	}
	if err := s.CheckApply(req); err != nil {
		return contract.Accepted{}, err
	}
	w := *req.Workload.Clone()
	w.Default()
	digest, err := w.Digest()
	if err != nil {
		return contract.Accepted{}, invalid(v1.ReasonInvalid, err)
	}
	changed := contract.ChangedUpdated
	switch {
	case s.Generation == 0:
		changed = contract.ChangedCreated
		s.Name, s.CreatedAt = w.Metadata.Name, now
	case digest == s.Digest:
		if s.Wanted == WantStopped {
			s.want(WantRunning, v1.VerbStart, req.RequestID)
		}
		return s.answer(req.RequestID, contract.ChangedUnchanged), nil
	}
	s.Workload, s.Digest = w, digest
	s.Generation++
	s.want(WantRunning, v1.VerbDeploy, req.RequestID)
	return s.answer(req.RequestID, changed), nil
}

// CheckApply refuses what Apply would refuse, and changes nothing.
func (s *State) CheckApply(req contract.ApplyRequest) error {
	if _, ok := s.answered(req.RequestID); ok {
		return nil
	}
	if err := s.checkOpen(req.IfGeneration); err != nil {
		return err
	}
	w := *req.Workload.Clone()
	w.Default()
	if err := w.Validate(); err != nil {
		return invalid(v1.ReasonInvalid, err)
	}
	if err := contract.CheckStrict(w, s.Timings); err != nil {
		return invalid(v1.ReasonInvalid, err)
	}
	if s.Generation > 0 {
		if err := v1.CheckUpdate(&s.Workload, &w); err != nil {
			return invalid(v1.ReasonImmutable, err)
		}
	}
	return nil
}

// Ask records a verb: start, stop, restart, retry or remove.
func (s *State) Ask(verb v1.Verb, req contract.VerbRequest) (contract.Accepted, error) {
	if a, ok := s.answered(req.RequestID); ok {
		return a, nil
	}
	if verb == v1.VerbRemove && s.Wanted == WantRemoved {
		s.Force, s.DropVolumes = s.Force || req.Force, s.DropVolumes || req.Volumes
		return s.answer(req.RequestID, contract.ChangedUnchanged), nil
	}
	if verb == v1.VerbRetry && s.Wanted == WantRemoved && s.retry(req.RequestID) {
		return s.answer(req.RequestID, contract.ChangedUpdated), nil // a remove that waits for its next try
	}
	if err := s.checkOpen(req.IfGeneration); err != nil {
		return contract.Accepted{}, err
	}
	changed := contract.ChangedUpdated
	switch verb {
	case v1.VerbRemove:
		s.Force, s.DropVolumes = req.Force, req.Volumes
		s.want(WantRemoved, verb, req.RequestID)
	case v1.VerbStop:
		if s.Wanted == WantStopped {
			changed = contract.ChangedUnchanged
		} else {
			s.want(WantStopped, verb, req.RequestID)
		}
	case v1.VerbRestart:
		s.want(WantRunning, verb, req.RequestID)
	case v1.VerbStart:
		if s.Wanted == WantRunning && s.Ended == nil && (s.Failure == nil || !s.Failure.Permanent) {
			changed = contract.ChangedUnchanged
		} else {
			s.want(WantRunning, verb, req.RequestID)
		}
	case v1.VerbRetry:
		if !s.retry(req.RequestID) {
			changed = contract.ChangedUnchanged
		}
	default:
		return contract.Accepted{}, contract.Permanent(v1.ReasonInvalid, "use start, stop, restart, retry or remove", "unknown verb %q", verb)
	}
	return s.answer(req.RequestID, changed), nil
}

// retry tries at once what waits for its next try, and starts what ended by itself anew. It reports whether there was
// anything to retry.
func (s *State) retry(requestID string) bool {
	switch {
	case s.Failure != nil:
		s.Failure, s.Tries, s.NextTry = nil, 0, time.Time{}
		s.Seq++
		return true
	case s.Drain != nil && s.Drain.Failure != nil:
		s.Drain.Failure, s.Drain.Tries, s.Drain.NextTry, s.Drain.LeaveAt = nil, 0, time.Time{}, time.Time{}
		s.Seq++
		return true
	case s.Wanted == WantRunning && (s.Ended != nil || s.isDown()):
		s.want(WantRunning, v1.VerbRetry, requestID)
		return true
	default:
		return false
	}
}

// isDown reports whether what was deployed does not run, and its host or a repair is to start it again.
func (s *State) isDown() bool {
	down := s.Seen.State == contract.RunExited || s.Seen.State == contract.RunAbsent
	return s.Doing == nil && s.Deployed != nil && s.Seen.Fence == s.Deployed.Fence && down
}

// want records a change of what is wanted. It supersedes whatever is under way, and starts counting failures anew.
func (s *State) want(wanted Wanted, verb v1.Verb, requestID string) {
	s.Seq++
	s.WantedSeq = s.Seq
	s.Wanted, s.Verb, s.WantedBy = wanted, verb, requestID
	s.Failure, s.Tries, s.NextTry, s.Repairs = nil, 0, time.Time{}, 0
	if wanted != WantRunning {
		s.leaveQueue()
	}
	if wanted == WantRunning {
		s.Ended = nil
		if s.Job != nil {
			s.Job.Count, s.Job.StartedAt = 0, time.Time{}
		}
	}
}

func (s *State) checkOpen(ifGeneration *int64) error {
	if s.Wanted == WantRemoved {
		return contract.Permanent(v1.ReasonAlreadyRemoving, "wait until it is gone, then apply again", "%s is being removed", s.Name)
	}
	if ifGeneration != nil && *ifGeneration != s.Generation {
		return contract.Permanent(v1.ReasonGenerationMismatch, "read the workload again and repeat with its generation",
			"the generation is %d, not %s", s.Generation, strconv.FormatInt(*ifGeneration, 10))
	}
	return nil
}

// invalid says which fields were refused, and why.
func invalid(reason v1.Reason, err error) error {
	e := contract.Permanent(reason, "correct the fields that are named", "%v", err)
	if !errors.As(err, &e.Fields) {
		e.Advice = ""
	}
	return e
}
