package workload

import (
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// keepPast is how many ended actions are kept: some 20 KB at most.
	keepPast        = 50
	keepPastMessage = 160
)

// Past is an action that ended. Its names are short: every run of the workload carries all that are kept.
type Past struct {
	// Action is its workflow (deploy, stop or remove), Verb what the user wanted, if that is another word.
	Action     v1.Verb    `json:"a"`
	Verb       v1.Verb    `json:"v,omitempty"`
	Fence      int64      `json:"f"`
	Generation int64      `json:"g,omitempty"`
	Try        int        `json:"n,omitempty"`
	Host       string     `json:"h,omitempty"`
	RunID      string     `json:"r"`
	Outcome    v1.Outcome `json:"o"`
	Reason     v1.Reason  `json:"e,omitempty"`
	Message    string     `json:"m,omitempty"`
	Step       string     `json:"p,omitempty"`
	// Created, Started and Ended are milliseconds since 1970.
	Created int64 `json:"c"`
	Started int64 `json:"s"`
	Ended   int64 `json:"t"`
}

// remember keeps the open action, which ends with this failure or with none. What failed before its workflow began, as a
// placement does, was no action: it shows in the status only.
func (s *State) remember(failure *contract.Error, now time.Time) {
	host := s.Doing.Remain
	if host == "" && s.Placement != nil {
		host = s.Placement.Host
	}
	s.keep(*s.Doing, host, failure, now)
}

// rememberLeaving keeps the removal on the old host that comes first in some moves.
func (s *State) rememberLeaving(runID string, launched time.Time, err error, now time.Time) {
	d := *s.Doing
	d.Kind, d.RunID, d.LaunchedAt = v1.VerbRemove, runID, launched
	var failure *contract.Error
	if err != nil {
		failure = contract.FromActivityError(err)
	}
	s.keep(d, d.From.Placement.Host, failure, now)
}

func (s *State) keep(d Doing, host string, failure *contract.Error, now time.Time) {
	if d.RunID == "" {
		return
	}
	p := Past{
		Action: d.Kind, Fence: d.Fence, Generation: d.Generation, Try: d.Try, Host: host, RunID: d.RunID, Outcome: v1.OutcomeSucceeded,
		Created: d.StartedAt.UnixMilli(), Started: d.LaunchedAt.UnixMilli(), Ended: now.UnixMilli(),
	}
	if d.Verb != d.Kind {
		p.Verb = d.Verb
	}
	switch {
	case failure == nil:
	case failure.Reason == v1.ReasonSuperseded:
		p.Outcome, p.Step = v1.OutcomeSuperseded, failure.Step
	default:
		p.Outcome, p.Reason, p.Step = v1.OutcomeFailed, failure.Reason, failure.Step
		p.Message = contract.Clip(failure.Message, keepPastMessage)
	}
	s.Past = append(s.Past, p)
	if n := len(s.Past) - keepPast; n > 0 {
		s.Past = s.Past[n:]
	}
}

// PastActions are the kept actions, newest first.
func (s *State) PastActions() []v1.Action {
	out := make([]v1.Action, 0, len(s.Past))
	for i := len(s.Past) - 1; i >= 0; i-- {
		p := s.Past[i]
		ended := time.UnixMilli(p.Ended).UTC()
		a := v1.Action{
			ID: contract.ActionID(s.Name, p.Action, p.Fence), RunID: p.RunID, Workload: s.Name, Kind: s.Workload.Kind, Verb: p.Verb,
			Host: p.Host, Fence: p.Fence, Generation: p.Generation, Attempts: p.Try, Outcome: p.Outcome, Reason: p.Reason,
			Message: p.Message, Step: p.Step, CreatedAt: time.UnixMilli(p.Created).UTC(), StartedAt: time.UnixMilli(p.Started).UTC(),
			EndedAt: &ended,
		}
		if a.Verb == "" {
			a.Verb = p.Action
		}
		out = append(out, a)
	}
	return out
}
