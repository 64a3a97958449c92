package vm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestExitOf(t *testing.T) {
	for ending, want := range map[Ending]contract.Exit{
		EndingShutdown:  {Code: 0, Outcome: v1.ReasonExited},
		EndingCrashed:   {Code: 1, Outcome: v1.ReasonExited},
		EndingDestroyed: {Code: 137, Outcome: v1.ReasonInterrupted},
		EndingFailed:    {Code: -1, Outcome: v1.ReasonUnknown},
		EndingUnknown:   {Code: -1, Outcome: v1.ReasonUnknown},
	} {
		got := exitOf(Domain{Power: PowerOff, Ending: ending})
		require.Equal(t, want.Code, got.Code, ending)
		require.Equal(t, want.Outcome, got.Outcome, ending)
		require.NotEmpty(t, got.Message)
		require.False(t, got.At.IsZero())
	}
}

func TestWhatEndedWithItsHostWasInterrupted(t *testing.T) {
	booted := time.Now()
	for name, tc := range map[string]struct {
		ending  Ending
		started time.Time
		want    v1.Reason
	}{
		"ran when the machine went":    {EndingUnknown, booted.Add(-time.Hour), v1.ReasonInterrupted},
		"shut down before":             {EndingShutdown, booted.Add(-time.Hour), v1.ReasonExited},
		"started since":                {EndingUnknown, booted.Add(time.Minute), v1.ReasonUnknown},
		"nobody knows when it started": {EndingUnknown, time.Time{}, v1.ReasonUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, endOf(Domain{Power: PowerOff, Ending: tc.ending}, tc.started, booted).Outcome)
		})
	}
	require.Equal(t, v1.ReasonUnknown, endOf(Domain{Power: PowerOff, Ending: EndingUnknown}, booted, time.Time{}).Outcome)
}

// A job's attempt that was started once is not started again; one that was not is.
func TestEndedAttempt(t *testing.T) {
	for name, tc := range map[string]struct {
		attempt int
		boot    boot
		domain  Domain
		ended   bool
	}{
		"ended":                      {1, boot{Fence: 7, Attempt: 1, Done: true}, Domain{Power: PowerOff, Ending: EndingShutdown}, true},
		"ended, answer lost":         {1, boot{Fence: 7, Attempt: 1}, Domain{Power: PowerOff, Ending: EndingShutdown}, true},
		"host lost its power":        {1, boot{Fence: 7, Attempt: 1, Done: true}, Domain{Power: PowerOff, Ending: EndingUnknown}, true},
		"crash before the start":     {1, boot{Fence: 7, Attempt: 1}, Domain{Power: PowerOff, Ending: EndingUnknown}, false},
		"could not be started":       {1, boot{Fence: 7, Attempt: 1}, Domain{Power: PowerOff, Ending: EndingFailed}, false},
		"runs":                       {1, boot{Fence: 7, Attempt: 1, Done: true}, Domain{Power: PowerRunning}, false},
		"the attempt before":         {2, boot{Fence: 7, Attempt: 1, Done: true}, Domain{Power: PowerOff, Ending: EndingShutdown}, false},
		"the same, an action before": {1, boot{Fence: 6, Attempt: 1, Done: true}, Domain{Power: PowerOff, Ending: EndingShutdown}, false},
		"a service":                  {0, boot{Fence: 7, Done: true}, Domain{Power: PowerOff, Ending: EndingShutdown}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := &step.Call{In: contract.StepIn{Ref: contract.Ref{Fence: 7, Attempt: tc.attempt}}}
			require.Equal(t, tc.ended, endedAttempt(c, tc.boot, tc.domain) != nil)
		})
	}
}
