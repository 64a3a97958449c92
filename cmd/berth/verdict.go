package main

import (
	"fmt"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
)

// want is what a wait ends at.
type want int

const (
	wantUp want = iota
	wantStopped
	wantGone
)

// goal is one workload that is waited for.
type goal struct {
	name string
	want want
	// seq is the request whose effect is waited for, zero if it is not known yet.
	seq int64
	// generation is that of the request.
	generation int64
}

func goalsOf(accepted []v1.Accepted, w want) []goal {
	goals := make([]goal, len(accepted))
	for i, one := range accepted {
		goals[i] = goal{name: one.Name, want: w, seq: one.Seq, generation: one.Generation}
	}
	return goals
}

// failuresShown is how many failures in a row a wait looks on at: Berth goes on trying, but the caller is told.
const failuresShown = 3

// verdict says whether a goal is reached, or cannot be reached any more. A failure that is tried again is neither.
func (g goal) verdict(view v1.View, err error) (reached bool, failure error) {
	if client.IsNotFound(err) {
		if g.want == wantGone {
			return true, nil
		}
		return false, fmt.Errorf("%s: it was removed", g.name)
	}
	if err != nil {
		return false, err
	}
	s := view.Status
	if s.Seq < g.seq || s.Generation < g.generation {
		return false, nil // the status is older than the request
	}
	if s.Permanent {
		return false, fmt.Errorf("%s: %s", g.name, explain(s))
	}
	switch g.want {
	case wantGone:
		return s.Phase == v1.PhaseRemoved, nil
	case wantStopped:
		if s.Phase != v1.PhaseStopped && s.Phase != v1.PhaseStopping && s.Settled {
			return false, fmt.Errorf("%s: a later request wants it %s", g.name, s.Phase)
		}
		return s.Settled && s.Phase == v1.PhaseStopped, nil
	case wantUp:
		return g.up(s)
	default:
		return false, nil
	}
}

func (g goal) up(s v1.Status) (bool, error) {
	switch s.Phase {
	case v1.PhaseSucceeded:
		return true, nil
	case v1.PhaseRunning:
		return s.Settled && s.RunningGeneration >= g.generation && s.Type != v1.TypeJob, nil
	case v1.PhaseStopped, v1.PhaseRemoving, v1.PhaseRemoved:
		if s.Settled || s.Phase != v1.PhaseStopped {
			return false, fmt.Errorf("%s: a later request has it %s", g.name, s.Phase)
		}
		return false, nil
	case v1.PhaseFailed:
		if s.Tries >= failuresShown {
			return false, fmt.Errorf("%s: %s; it failed %d times and is tried again", g.name, explain(s), s.Tries)
		}
		return false, nil
	case v1.PhasePending, v1.PhaseDeploying, v1.PhaseDegraded, v1.PhaseStopping, v1.PhaseLost:
		return false, nil
	default:
		return false, nil
	}
}

// explain says on one line why a workload stands where it does.
func explain(s v1.Status) string {
	text := string(s.Phase)
	if s.Reason != v1.ReasonNone {
		text += ": " + string(s.Reason)
	}
	if s.Message != "" {
		text += ": " + s.Message
	}
	if s.ExitCode != nil {
		text += fmt.Sprintf(" (exit code %d)", *s.ExitCode)
	}
	if s.Advice != "" {
		text += " (" + s.Advice + ")"
	}
	return oneLine(text)
}
