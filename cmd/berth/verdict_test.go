package main

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
)

func TestVerdict(t *testing.T) {
	code := 3
	gone := &client.Error{Problem: v1.Problem{Status: http.StatusNotFound}}
	later := time.Now().Add(time.Minute)
	up := goal{name: "web", want: wantUp, seq: 4, generation: 2}
	running := v1.Status{Phase: v1.PhaseRunning, Type: v1.TypeService, Seq: 4, Generation: 2, RunningGeneration: 2, Settled: true}
	with := func(change func(*v1.Status)) v1.Status { s := running; change(&s); return s }
	for name, tc := range map[string]struct {
		goal    goal
		status  v1.Status
		err     error
		reached bool
		fails   string
	}{
		"running":                  {up, running, nil, true, ""},
		"status before request":    {up, with(func(s *v1.Status) { s.Seq = 3 }), nil, false, ""},
		"older generation":         {up, with(func(s *v1.Status) { s.Generation = 1 }), nil, false, ""},
		"old generation runs":      {up, with(func(s *v1.Status) { s.RunningGeneration = 1 }), nil, false, ""},
		"restart outstanding":      {up, with(func(s *v1.Status) { s.Settled = false }), nil, false, ""},
		"later request":            {up, with(func(s *v1.Status) { s.Seq, s.Generation, s.RunningGeneration = 9, 3, 3 }), nil, true, ""},
		"deploying":                {up, with(func(s *v1.Status) { s.Phase, s.Settled = v1.PhaseDeploying, false }), nil, false, ""},
		"a job runs":               {up, with(func(s *v1.Status) { s.Type = v1.TypeJob }), nil, false, ""},
		"a job succeeded":          {up, with(func(s *v1.Status) { s.Type, s.Phase = v1.TypeJob, v1.PhaseSucceeded }), nil, true, ""},
		"failed, tried again":      {up, with(func(s *v1.Status) { s.Phase, s.NextTry, s.Settled = v1.PhaseFailed, &later, false }), nil, false, ""},
		"failed, about to try":     {up, with(func(s *v1.Status) { s.Phase, s.Settled = v1.PhaseFailed, false }), nil, false, ""},
		"failed again and again":   {up, with(func(s *v1.Status) { s.Phase, s.Tries, s.Settled = v1.PhaseFailed, 3, false }), nil, false, "it failed 3 times"},
		"failed for good":          {up, with(func(s *v1.Status) { s.Phase, s.Permanent, s.Reason = v1.PhaseFailed, true, v1.ReasonImageNotFound }), nil, false, "web: Failed: ImageNotFound"},
		"update failed for good":   {up, with(func(s *v1.Status) { s.Phase, s.Permanent, s.Reason = v1.PhaseDegraded, true, v1.ReasonDigestMismatch }), nil, false, "DigestMismatch"},
		"a job's exit code":        {up, with(func(s *v1.Status) { s.Phase, s.Permanent, s.ExitCode = v1.PhaseFailed, true, &code }), nil, false, "(exit code 3)"},
		"stopped meanwhile":        {up, with(func(s *v1.Status) { s.Phase = v1.PhaseStopped }), nil, false, "a later request"},
		"removed meanwhile":        {up, v1.Status{}, gone, false, "it was removed"},
		"no answer":                {up, v1.Status{}, errors.New("no answer"), false, "no answer"},
		"gone":                     {goal{name: "web", want: wantGone}, v1.Status{}, gone, true, ""},
		"still removing":           {goal{name: "web", want: wantGone}, with(func(s *v1.Status) { s.Phase = v1.PhaseRemoving }), nil, false, ""},
		"stopped":                  {goal{name: "web", want: wantStopped}, with(func(s *v1.Status) { s.Phase = v1.PhaseStopped }), nil, true, ""},
		"stopping":                 {goal{name: "web", want: wantStopped}, with(func(s *v1.Status) { s.Phase, s.Settled = v1.PhaseStopping, false }), nil, false, ""},
		"started again meanwhile":  {goal{name: "web", want: wantStopped, seq: 3}, running, nil, false, "a later request"},
		"one line, whatever comes": {up, with(func(s *v1.Status) { s.Phase, s.Permanent, s.Message = v1.PhaseFailed, true, "a\nb" }), nil, false, "web: Failed: a b"},
	} {
		t.Run(name, func(t *testing.T) {
			reached, err := tc.goal.verdict(v1.View{Status: tc.status}, tc.err)
			require.Equal(t, tc.reached, reached)
			if tc.fails == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.fails)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}
