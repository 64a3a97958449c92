package harness

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Root is the repository's root.
func Root(t testing.TB) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	require.True(t, ok, "this binary knows no source paths: build it without -trimpath")
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// Binary is the path of a program in the repository's bin/. It fails the test if the program was not built: a test that
// ran an old one from elsewhere would say nothing.
func Binary(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(Root(t), "bin", name)
	_, err := os.Stat(path)
	require.NoErrorf(t, err, "%s is missing: run `make tools-run build build-faults`", path)
	return path
}

// FreePort returns a TCP port of 127.0.0.1 on which nobody listens now.
func FreePort(t testing.TB) int {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	addr, ok := l.Addr().(*net.TCPAddr)
	require.True(t, ok)
	return addr.Port
}

// OpenDir makes a directory for one test that QEMU's user can reach, which t.TempDir's parent forbids, and removes it
// when the test ends.
func OpenDir(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "berth-"+name+"-") //nolint:usetesting // see above
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o711))
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove %s: %v", dir, err)
		}
	})
	return dir
}

// memoryDir is a directory on tmpfs that goes with the test.
func memoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "berth-run-") //nolint:usetesting // the test's own may be on a disk
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove %s: %v", dir, err)
		}
	})
	return dir
}
