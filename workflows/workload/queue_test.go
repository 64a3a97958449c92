package workload

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestWhoWaitsForNoRoomLeavesTheQueue(t *testing.T) {
	place := contract.Step(contract.ActivityPlace)
	for name, c := range map[string]struct {
		lead  func(f *fixture)
		waits bool
	}{
		"refused everywhere":        {func(f *fixture) { f.fails(v1.ReasonNoCapacity, false, place) }, true},
		"failed in another way":     {func(f *fixture) { f.fails(v1.ReasonUnavailable, false, place) }, false},
		"superseded while placed":   {func(f *fixture) { f.ask(v1.VerbRemove).fails(v1.ReasonSuperseded, false, place) }, false},
		"superseded with a refusal": {func(f *fixture) { f.ask(v1.VerbStop).fails(v1.ReasonNoCapacity, false, place) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := service(t, "", 0).act(v1.VerbDeploy)
			fence := f.Doing.Fence
			c.lead(f)
			require.Equal(t, c.waits, !f.WaitsSince.IsZero())
			if !c.waits {
				require.Equal(t, fence, f.Leaving)
			}
		})
	}
}

func TestARefusalByAListIsSoonTriedAgain(t *testing.T) {
	for _, guess := range []bool{false, true} {
		f := service(t, "", 0).act(v1.VerbDeploy)
		f.Failed(&contract.Error{Reason: v1.ReasonNoMatchingHost, Step: contract.ActivityPlace, Guess: guess}, f.now)
		require.Equal(t, guess, f.NextTry.Before(f.now.Add(roomBackoff)))
		require.False(t, f.WaitsSince.IsZero(), "it is in the queue as well")
	}
}
