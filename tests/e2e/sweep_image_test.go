package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// TestAnImageThatNothingUses lets sweeps look at a cached image that a machine's disk is based on, that nothing uses any more,
// and whose removal is cut short.
func TestAnImageThatNothingUses(t *testing.T) {
	t.Parallel()
	const size = 1<<20 + 512*7
	f := harness.NewFleet(t, harness.Failpoints())
	f.StartServer(pace...)
	agent := f.StartAgent(hostName, append(pace, "--keep-images", "1h")...)
	f.AwaitHost(hostName, soon, v1.HostOnline)
	unscheduled(t, f)
	_, srv := randomImage(t, size)
	run := func() {
		t.Helper()
		f.Apply(raw(f, "db", srv.URL, "")) // without a checksum: only its entry leads to the image
		f.AwaitPhase("db", long, v1.PhaseRunning)
	}
	run()
	require.Len(t, cached(t, f, size), 1)
	image := cached(t, f, size)[0]
	thing := "image " + filepath.Base(image)
	entries := func() []os.DirEntry {
		t.Helper()
		all, err := os.ReadDir(filepath.Join(agent.DataDir, "images", "index"))
		require.NoError(t, err)
		return all
	}
	old := func() {
		t.Helper()
		then := time.Now().Add(-2 * time.Hour)
		require.NoError(t, os.Chtimes(image, then, then))
	}

	old()
	code, s := sweep(t, f, deleting...)
	require.Zero(t, code, s.Message)
	require.Zero(t, s.Summary.Orphaned, "a disk is based on it: %+v", s.Things)
	require.FileExists(t, image)

	remove(t, f, "db")
	code, s = sweep(t, f, deleting...)
	require.Zero(t, code, s.Message)
	require.Zero(t, s.Summary.Orphaned, "it was in use lately: %+v", s.Things)

	old()
	code, s = sweep(t, f)
	require.Zero(t, code, s.Message)
	require.Equal(t, v1.SweepSummary{Hosts: 1, Orphaned: 1, SkippedLive: 1}, s.Summary, "the image, and the tombstone")
	require.Equal(t, []string{thing}, things(s, v1.VerdictOrphan))
	require.FileExists(t, image)

	place := "image.remove.forgotten@" + filepath.Base(image)
	f.ArmKill(place)
	s = begin(t, f)
	f.AwaitHit(place, soon)
	require.NotZero(t, agent.Await(soon))
	require.FileExists(t, image)
	require.Empty(t, entries())
	f.Release(place)
	agent.Start()
	s = sweepEnd(t, f, s.ID)
	require.Equal(t, v1.SweepSucceeded, s.State, s.Message)
	require.Equal(t, v1.SweepSummary{Hosts: 1, Orphaned: 1, Deleted: 1, SkippedLive: 1}, s.Summary)
	require.Equal(t, []string{thing}, things(s, v1.VerdictDeleted))
	require.NoFileExists(t, image)

	before := srv.Served()
	run()
	after := srv.Served()
	require.Equal(t, int64(size), after.Bytes-before.Bytes, "it is fetched again")
	require.FileExists(t, image)
	require.Len(t, entries(), 1)
	remove(t, f, "db")
}
