package workload

import (
	"slices"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// keepConditions bounds how many conditions are shown, conditionSize how long each may be, in bytes: the memo is small.
	keepConditions = 3
	conditionSize  = 160
)

// Condition is something that has happened. Seq is the last request that had been accepted by then.
type Condition struct {
	v1.Condition
	Seq int64 `json:"seq,omitempty"`
}

// AddCondition notes something that has happened, that a user should know and that changes nothing.
func (s *State) AddCondition(reason v1.Reason, message string, now time.Time) {
	s.Conditions = append(s.Conditions, Condition{
		Condition: v1.Condition{Reason: reason, Message: contract.Clip(message, conditionSize), At: now}, Seq: s.Seq,
	})
	if n := len(s.Conditions) - keepConditions; n > 0 {
		s.Conditions = s.Conditions[n:]
	}
}

// done notes that a request was carried out. What had happened before it was made is over: events go on telling of it.
func (s *State) done(seq int64) {
	s.DoneSeq = max(s.DoneSeq, seq)
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c Condition) bool { return c.Seq < s.DoneSeq })
}

// conditions are what a user should know now: what the host sees, and what has happened lately.
func (s *State) conditions() []v1.Condition {
	var all []v1.Condition
	if s.Deployed != nil && s.Seen.Fence == s.Deployed.Fence {
		for _, f := range s.Seen.Findings {
			if s.Seen.Down() && f.Reason != v1.ReasonRecordMissing {
				continue // it is found of what runs
			}
			all = append(all, v1.Condition{Reason: f.Reason, Message: contract.Clip(f.Message, conditionSize), At: f.At})
		}
	}
	all = all[:min(len(all), keepConditions)]
	for _, c := range s.Conditions[max(0, len(s.Conditions)+len(all)-keepConditions):] {
		all = append(all, c.Condition)
	}
	return all
}

// dated gives each finding the time at which it was first heard of.
func (s *State) dated(o contract.Observation, now time.Time) []contract.Finding {
	findings := slices.Clone(o.Findings)
	for i := range findings {
		f := &findings[i]
		f.At = now
		for _, before := range s.Seen.Findings {
			if before.Reason == f.Reason && before.Message == f.Message && s.Seen.Fence == o.Fence {
				f.At = before.At
			}
		}
	}
	return findings
}
