package harness

import (
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
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

// ports are those that were given out: two tests that look at the same time must not get the same one.
var ports sync.Map

// FreePort returns a port of 127.0.0.1 that nobody listens on, and that the kernel gives to no outgoing connection meanwhile: those
// begin at 32768. So it also fits where PostgreSQL keeps the ports of a cluster's members, in 16 bits with a sign.
func FreePort(t testing.TB) int {
	t.Helper()
	for range 100 {
		port := 10_000 + rand.IntN(22_000)
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address(port))
		if err != nil {
			continue
		}
		require.NoError(t, l.Close())
		if _, taken := ports.LoadOrStore(port, true); !taken {
			return port
		}
	}
	require.FailNow(t, "no port below 32000 is free")
	return 0
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

// MemoryDir is a directory on tmpfs that goes with the test.
func MemoryDir(t testing.TB) string {
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
