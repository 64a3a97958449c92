package boot

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReadThisMachine(t *testing.T) {
	b := Read(ProcFS)
	require.Len(t, b.ID, 36)
	require.False(t, b.At.IsZero())
	require.True(t, b.At.Before(time.Now()))
	require.Equal(t, b, Read(ProcFS))
}

func TestReadAnotherProcFS(t *testing.T) {
	dir := t.TempDir()
	require.Equal(t, Boot{ID: "unknown"}, Read(dir))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sys/kernel/random"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sys/kernel/random/boot_id"), []byte("b1\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "stat"), []byte("cpu 1 2\nbtime 1000\nprocesses 3\n"), 0o600))
	require.Equal(t, Boot{ID: "b1", At: time.Unix(1000, 0)}, Read(dir))
}
