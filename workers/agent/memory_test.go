package agent

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAHostNoticesThatItsFleetHasForgotten(t *testing.T) {
	dir, now := t.TempDir(), time.UnixMilli(1_000_000)
	open := func() *memory {
		m, err := openMemory(dir)
		require.NoError(t, err)
		return m
	}
	m := open()
	for _, lease := range []int64{1, 2, 7} {
		require.NoError(t, m.admitted(lease, now))
	}
	require.True(t, m.rewound().IsZero())
	m = open() // the agent was restarted
	require.NoError(t, m.admitted(7, now.Add(time.Minute)), "the same number again is one that was given before")
	require.Equal(t, now.Add(time.Minute), m.rewound())
	require.NoError(t, m.admitted(8, now.Add(time.Hour)))
	require.Equal(t, now.Add(time.Minute).UnixMilli(), open().rewound().UnixMilli(), "that is remembered")
	require.NoError(t, m.admitted(1, now.Add(2*time.Hour)))
	require.Equal(t, now.Add(2*time.Hour).UnixMilli(), open().rewound().UnixMilli())

	require.NoError(t, os.WriteFile(filepath.Join(dir, memoryFile), []byte("{"), 0o600))
	_, err := openMemory(dir)
	require.ErrorContains(t, err, memoryFile)
}
