package workload

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnEndedAttemptGivesItsRoomBack(t *testing.T) {
	f := job(t, 2, 0).running()
	fence := f.Deployed.Fence
	f.exits(1)
	l := f.Acknowledge()
	require.Nil(t, l.Release, "the host is kept for the next attempt")
	require.NotNil(t, l.Settle)
	require.Equal(t, fence, l.Settle.Fence)
	require.Zero(t, l.Settle.Needs.Amount.CPUs)
	require.Zero(t, l.Settle.Needs.Amount.Memory)
	require.True(t, f.Busy())
}
