package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestADataDirectoryBelongsToOneHost(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, claim(dir, "f", "h1"))
	require.NoError(t, claim(dir, "f", "h1"), "the next start")
	require.ErrorContains(t, claim(dir, "f", "h2"), "belongs to host h1 of fleet f: start with --host-id h1")
	require.ErrorContains(t, claim(dir, "g", "h1"), "belongs to host h1 of fleet f")
	require.NoError(t, claim(dir, "f", "h1"))

	copied := t.TempDir()
	require.NoError(t, os.CopyFS(copied, os.DirFS(dir)))
	require.Error(t, claim(copied, "f", "h2"), "a copy is the same host's")
	require.Error(t, claim(filepath.Join(dir, "none"), "f", "h1"), "it can't be written")
}

func TestTheInstanceStaysWithTheDataDirectory(t *testing.T) {
	dir := t.TempDir()
	first, err := instanceID(dir)
	require.NoError(t, err)
	again, err := instanceID(dir)
	require.NoError(t, err)
	require.Equal(t, first, again)
	other, err := instanceID(t.TempDir())
	require.NoError(t, err)
	require.NotEqual(t, first, other)
}
