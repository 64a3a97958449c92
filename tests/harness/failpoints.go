package harness

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/stretchr/testify/require"
)

// Arm makes the next process that passes the failpoint wait there; see AwaitHit and Release. The fleet must run the build
// with failpoints.
func (f *Fleet) Arm(name string) { f.arm(name, "wait") }

// ArmKill makes the next process that passes the failpoint kill itself.
func (f *Fleet) ArmKill(name string) { f.arm(name, "kill") }

// Disarm takes back an Arm that nobody has hit.
func (f *Fleet) Disarm(name string) {
	f.t.Helper()
	f.removeSwitch(name + ".arm")
}

// AwaitHit waits until a process has come to an armed failpoint.
func (f *Fleet) AwaitHit(name string, within time.Duration) {
	f.t.Helper()
	Eventually(f.t, func() bool {
		_, err := os.Stat(f.switchPath(name + ".hit"))
		return err == nil
	}, within, 5*time.Millisecond, "nothing came to failpoint %s", name)
}

// Release lets the process that waits at the failpoint go on, or forgets one that was killed there.
func (f *Fleet) Release(name string) {
	f.t.Helper()
	f.removeSwitch(name + ".hit")
}

// Seen returns the names of all failpoints that were passed so far, sorted.
func (f *Fleet) Seen() []string {
	f.t.Helper()
	entries, err := os.ReadDir(f.switchPath("seen"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(f.t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// arm writes beside and renames, so that the process never sees half of it.
func (f *Fleet) arm(name, how string) {
	f.t.Helper()
	require.Equal(f.t, "berth-faults", f.binary, "this fleet runs a build without failpoints: use harness.Failpoints()")
	path := f.switchPath(name + ".arm")
	require.NoError(f.t, os.WriteFile(path+".new", []byte(how), 0o600))
	require.NoError(f.t, os.Rename(path+".new", path))
}

func (f *Fleet) removeSwitch(file string) {
	f.t.Helper()
	if err := os.Remove(f.switchPath(file)); err != nil {
		require.ErrorIs(f.t, err, fs.ErrNotExist)
	}
}

func (f *Fleet) switchPath(file string) string { return filepath.Join(f.FailpointsDir, file) }
