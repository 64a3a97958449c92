package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStall(t *testing.T) {
	const s = time.Second
	fresh := func() *stall { return &stall{limit: 15 * s, alive: 100 * s} }

	t.Run("who runs does not stand still", func(t *testing.T) {
		st := fresh()
		for now := 101 * s; now < 200*s; now += 15 * s {
			st.pulse(now, 3)
		}
		require.Zero(t, st.since)
	})
	t.Run("a freeze is noticed, and stays noticed", func(t *testing.T) {
		st := fresh()
		st.pulse(116*s, 3)
		st.pulse(117*s, 3)
		require.Equal(t, 116*s, st.since)
	})
	t.Run("a beat of the lease that never ended takes it back", func(t *testing.T) {
		st := fresh()
		st.pulse(130*s, 3)
		st.acknowledged(3, 129*s)
		require.NotZero(t, st.since, "it was sent before the freeze was over")
		st.acknowledged(3, 130*s)
		require.Zero(t, st.since)
	})
	t.Run("a beat of a later lease does not", func(t *testing.T) {
		st := fresh()
		st.pulse(130*s, 3)
		st.acknowledged(4, 131*s)
		require.NotZero(t, st.since)
	})
}

func TestAHolderResumes(t *testing.T) {
	h := NewHolder(nil, nil)
	require.False(t, h.Stalled())
	h.stall.alive -= time.Hour
	require.True(t, h.Stalled())
	require.True(t, h.Stalled())
	h.Resume()
	require.False(t, h.Stalled())
}
