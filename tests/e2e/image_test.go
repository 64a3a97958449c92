package e2e

import (
	"crypto/rand"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// randomImage makes a raw image of a size and serves it: no two tests share one in the host's cache.
func randomImage(t *testing.T, size int) (path string, srv *harness.FileServer) {
	t.Helper()
	data := make([]byte, size)
	_, err := rand.Read(data)
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), t.Name()[strings.LastIndexByte(t.Name(), '/')+1:]+".raw")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path, harness.ServeFile(t, path)
}

// raw is a virtual machine of a raw image that nobody waits for to boot.
func raw(f *harness.Fleet, name, url, checksum string) *v1.Workload {
	w := vm(f, name, url, checksum)
	w.VM.Disks[0].Image.Format = v1.FormatRaw
	w.VM.Memory = 64 << 20
	w.VM.StopGracePeriod = v1.Duration(time.Second) // nothing there obeys the power button
	return w
}

// cached are the files of the agent's image cache of at least a size.
func cached(t *testing.T, f *harness.Fleet, size int64) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(f.Agents[0].DataDir, "images"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Size() == size {
			found = append(found, path)
		}
		return nil
	})
	require.NoError(t, err)
	return found
}

func vmWrongChecksum(t *testing.T, f *harness.Fleet) {
	const size = 1<<20 + 512*3 // a size of its own
	_, srv := randomImage(t, size)
	f.Apply(raw(f, "wrong", srv.URL, "sha256:"+strings.Repeat("0", 64)))
	v := f.AwaitPhase("wrong", soon, v1.PhaseFailed)
	require.Equal(t, v1.ReasonDigestMismatch, v.Status.Reason)
	require.True(t, v.Status.Permanent)
	require.Empty(t, cached(t, f, size), "no file is kept")
	require.Empty(t, domainsOf(t, f, "wrong"))
	remove(t, f, "wrong")
}

func vmImageNotFound(t *testing.T, f *harness.Fleet) {
	_, srv := randomImage(t, 1<<20)
	srv.Set(harness.Trouble{Status: http.StatusNotFound})
	f.Apply(raw(f, "nowhere", srv.URL, ""))
	v := f.AwaitPhase("nowhere", soon, v1.PhaseFailed)
	require.Equal(t, v1.ReasonImageNotFound, v.Status.Reason)
	require.True(t, v.Status.Permanent)
	require.Equal(t, 1, srv.Served().Requests, "asking again would not help")
	remove(t, f, "nowhere")
}

func vmStalls(t *testing.T, f *harness.Fleet) {
	const size = 2 << 20
	path, srv := randomImage(t, size)
	srv.Set(harness.Trouble{StallAfter: size / 16}) // of each answer
	start := time.Now()
	f.Apply(raw(f, "stalls", srv.URL, sha256Of(t, path)))
	f.AwaitWorkload("stalls", soon, "the stall is told", func(v v1.View) bool {
		return slices.ContainsFunc(v.Progress, func(p v1.Progress) bool { return strings.Contains(p.LastFailure, "sent nothing for 3s") }) ||
			v.Status.Reason == v1.ReasonFetchStalled
	})
	require.Greater(t, time.Since(start), 3*time.Second)
	v := f.AwaitWorkload("stalls", long, "it failed and is tried again", func(v v1.View) bool { return v.Status.Tries > 0 })
	require.Equal(t, v1.ReasonFetchStalled, v.Status.Reason)
	require.False(t, v.Status.Permanent)
	srv.Set(harness.Trouble{})
	f.AwaitPhase("stalls", long, v1.PhaseRunning)
	require.Less(t, srv.Served().Bytes, int64(size*3/2), "what had come was not fetched again")
	remove(t, f, "stalls")
}

func vmDrops(t *testing.T, f *harness.Fleet) {
	const size = 5 << 20
	path, srv := randomImage(t, size)
	srv.Set(harness.Trouble{DropEvery: 1<<20 + 1})
	f.Apply(raw(f, "drops", srv.URL, sha256Of(t, path)))
	f.AwaitPhase("drops", long, v1.PhaseRunning)
	served := srv.Served()
	require.GreaterOrEqual(t, served.Ranged, 4)
	require.Less(t, served.Bytes, int64(size+size/2), "each try goes on where the last one ended")
	remove(t, f, "drops")
}

func vmBackingFile(t *testing.T, f *harness.Fleet) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, make([]byte, 1<<20), 0o600))
	for name, args := range map[string][]string{
		"backed":   {"-b", secret, "-F", "raw"},
		"external": {"-o", "data_file=" + filepath.Join(t.TempDir(), "data") + ",data_file_raw=on"},
	} {
		path := filepath.Join(t.TempDir(), name+".qcow2")
		args = append(append([]string{"create", "-q", "-f", "qcow2"}, args...), path, "1M")
		out, err := exec.CommandContext(t.Context(), "qemu-img", args...).CombinedOutput()
		require.NoErrorf(t, err, "%s", out)
		f.Apply(vm(f, name, harness.ServeFile(t, path).URL, sha256Of(t, path)))
		v := f.AwaitPhase(name, soon, v1.PhaseFailed)
		require.Equal(t, v1.ReasonImageInvalid, v.Status.Reason)
		require.True(t, v.Status.Permanent)
		require.Empty(t, domainsOf(t, f, name))
		require.Empty(t, cached(t, f, fileSize(t, path)), "what is refused is not kept")
		remove(t, f, name)
	}
}

func vmDeletedInFetch(t *testing.T, f *harness.Fleet) {
	const size = 8 << 20
	_, srv := randomImage(t, size)
	srv.Set(harness.Trouble{BytesPerSecond: size / 400}) // it must not be over by itself
	f.Apply(raw(f, "fetching", srv.URL, ""))
	harness.Eventually(t, func() bool { return srv.Served().Bytes > 0 }, soon, poll)
	remove(t, f, "fetching")
	require.Empty(t, leftovers(t, f, "fetching"))
	sent := srv.Served().Bytes
	require.Never(t, func() bool { return srv.Served().Bytes > sent+32<<10 }, 2*time.Second, poll, "nobody waits for it any more")
	require.Less(t, sent, int64(size))
}
