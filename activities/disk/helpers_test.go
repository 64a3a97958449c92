package disk_test

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// run runs a tool that the tests cannot do without, and returns what it printed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	require.NoError(t, err, "%s %s: %s", name, strings.Join(args, " "), out)
	return string(out)
}

func qemuCreate(t *testing.T, args ...string) {
	t.Helper()
	run(t, "qemu-img", append([]string{"create", "-q"}, args...)...)
}

func requireReason(t *testing.T, err error, reason v1.Reason, permanent bool) {
	t.Helper()
	var own *contract.Error
	require.ErrorAs(t, err, &own)
	require.Equal(t, reason, own.Reason, "%v", err)
	require.Equal(t, permanent, own.Permanent, "%v", err)
}

// requireOnly requires a directory to hold these names and nothing else.
func requireOnly(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	found := make([]string, 0, len(entries))
	for _, e := range entries {
		found = append(found, e.Name())
	}
	require.ElementsMatch(t, names, found)
}

func randomFile(t *testing.T, path string, size int64) []byte {
	t.Helper()
	data := make([]byte, size)
	_, err := rand.Read(data)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return data
}

func patch(t *testing.T, path string, offset int64, data ...byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = f.WriteAt(data, offset)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// mountSmall mounts a file system of this many MiB for the length of a test.
func mountSmall(t *testing.T, mib string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("this test mounts: run it as root, as make test does")
	}
	dir := filepath.Join(t.TempDir(), "small")
	require.NoError(t, os.Mkdir(dir, 0o755))
	run(t, "mount", "-t", "tmpfs", "-o", "size="+mib+"m", "berth-test", dir)
	t.Cleanup(func() {
		out, err := exec.Command("umount", dir).CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
	return dir
}
