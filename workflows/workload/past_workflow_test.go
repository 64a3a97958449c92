package workload_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestEndedActionsAreKept(t *testing.T) {
	f := newFleet(t)
	fail := true
	f.start = func(context.Context, contract.StepIn) (contract.StepOut, error) {
		if fail {
			fail = false
			return contract.StepOut{}, contract.AsActivityError(contract.Permanent(v1.ReasonImageInvalid, "", "no such thing"))
		}
		return contract.StepOut{RuntimeID: "c1"}, nil
	}
	f.after(time.Minute, f.signal(v1.VerbRetry))
	f.after(2*time.Minute, f.signal(v1.VerbStop))
	f.after(3*time.Minute, func() {
		v, err := f.QueryWorkflow(contract.QueryActions)
		require.NoError(t, err)
		var past []v1.Action
		require.NoError(t, v.Get(&past))
		require.Len(t, past, 3)
		require.Equal(t, []v1.Verb{v1.VerbStop, v1.VerbDeploy, v1.VerbDeploy}, []v1.Verb{past[0].Verb, past[1].Verb, past[2].Verb})
		require.Equal(t, v1.OutcomeSucceeded, past[1].Outcome)
		failed := past[2]
		require.Equal(t, v1.OutcomeFailed, failed.Outcome)
		require.Equal(t, v1.ReasonImageInvalid, failed.Reason)
		require.Equal(t, "no such thing", failed.Message)
		require.Equal(t, "Start", failed.Step)
		require.Equal(t, "h1", failed.Host)
		for _, a := range past {
			require.NotEmpty(t, a.RunID)
			require.False(t, a.StartedAt.Before(a.CreatedAt))
			require.False(t, a.EndedAt.Before(a.StartedAt))
		}
	})
	f.after(4*time.Minute, f.signal(v1.VerbRemove))
	f.run(contract.DefaultTimings())
	f.closed()
}
