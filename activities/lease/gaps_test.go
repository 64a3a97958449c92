package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheLongestGapIsKept(t *testing.T) {
	var g gaps
	require.Zero(t, g.acknowledged(5*time.Second), "before the first there is none")
	require.Equal(t, 3*time.Second, g.acknowledged(8*time.Second))
	require.Equal(t, 7*time.Second, g.acknowledged(15*time.Second))
	require.Equal(t, time.Second, g.acknowledged(16*time.Second))
	require.Equal(t, 7*time.Second, g.longest)
}
