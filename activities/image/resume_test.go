package image_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/image"
	v1 "github.com/berth-dev/berth/api/v1"
)

func TestEnsureResumesDrops(t *testing.T) {
	data := content(t, 10*mib)
	const date = "Tue, 01 Jan 2030 00:00:00 GMT"
	for name, tt := range map[string]struct{ etag, modified, proof string }{
		"by ETag":           {`"a"`, "", `"a"`},
		"by date":           {`W/"a"`, date, date},
		"by checksum alone": {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
				if tt.modified != "" {
					w.Header().Set("Last-Modified", tt.modified)
				}
				serveContent(&limited{ResponseWriter: w, left: 2*mib + 777}, r, tt.etag, data)
			})
			c := open(t, t.TempDir(), image.Options{})
			img, err := c.Ensure(t.Context(), raw(s.URL, sha256Of(data)), nil)
			require.NoError(t, err)
			requireImage(t, img, data)
			require.Len(t, s.asked(), 5)
			require.Equal(t, int64(len(data)), s.bytesSent(), "nothing is sent twice")
			for _, h := range s.asked()[1:] {
				require.NotEmpty(t, h.Get("Range"))
				require.Equal(t, tt.proof, h.Get("If-Range"))
			}
		})
	}
}

func TestEnsureStartsAgainWhereRangesAreIgnored(t *testing.T) {
	data := content(t, 4*mib)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, request int) {
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		if request == 1 {
			w = &limited{ResponseWriter: w, left: 3 * mib}
		}
		_, _ = w.Write(data[:2*mib])
		_, _ = w.Write(data[2*mib:])
	})
	c := open(t, t.TempDir(), image.Options{})
	img, err := c.Ensure(t.Context(), raw(s.URL, sha256Of(data)), nil)
	require.NoError(t, err)
	requireImage(t, img, data)
	require.Len(t, s.asked(), 2)
}

func TestEnsureGivesUpWithoutProgress(t *testing.T) {
	data := content(t, 4*mib)
	s := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		r.Header.Del("Range") // it can only send from the start, and never comes to the end
		serveContent(&limited{ResponseWriter: w, left: mib}, r, "", data)
	})
	c := open(t, t.TempDir(), image.Options{})
	_, err := c.Ensure(t.Context(), raw(s.URL, sha256Of(data)), nil)
	requireReason(t, err, v1.ReasonFetchFailed, false)
	require.ErrorContains(t, err, "closed in the middle")
	require.Len(t, s.asked(), 6)
}

func TestEnsureSeesThatTheImageChanged(t *testing.T) {
	old, data := content(t, 4*mib), content(t, 4*mib)
	tests := map[string]struct {
		etags    [2]string
		checksum string
	}{
		"ETag":                    {[2]string{`"old"`, `"new"`}, ""},
		"nothing but a checksum":  {[2]string{"", ""}, sha256Of(data)},
		"ETag, If-Range ignored":  {[2]string{`"old"`, `"new"`}, sha256Of(data)},
		"no validator, no chance": {[2]string{"", ""}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request, request int) {
				if strings.Contains(name, "ignored") {
					r.Header.Del("If-Range")
				}
				if request == 1 {
					serveContent(&limited{ResponseWriter: w, left: 2 * mib}, r, tt.etags[0], old)
					return
				}
				serveContent(w, r, tt.etags[1], data)
			})
			c := open(t, t.TempDir(), image.Options{})
			img, err := c.Ensure(t.Context(), raw(s.URL, tt.checksum), nil)
			require.NoError(t, err)
			requireImage(t, img, data)
		})
	}
}

func TestEnsureRefusesAnotherRange(t *testing.T) {
	data := content(t, 4*mib)
	s := serve(t, func(w http.ResponseWriter, r *http.Request, request int) {
		switch request {
		case 1:
			serveContent(&limited{ResponseWriter: w, left: 2 * mib}, r, `"a"`, data)
		case 2: // a server that is confused
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", mib, len(data)-1, len(data)))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(data[mib:])
		default:
			serveContent(w, r, `"a"`, data)
		}
	})
	c := open(t, t.TempDir(), image.Options{})
	img, err := c.Ensure(t.Context(), raw(s.URL, sha256Of(data)), nil)
	require.NoError(t, err)
	requireImage(t, img, data)
}

const (
	childDir = "BERTH_TEST_IMAGE_DIR"
	childURL = "BERTH_TEST_IMAGE_URL"
	childSum = "BERTH_TEST_IMAGE_SUM"
)

// TestFetchInAChild is what a child process runs; on its own it does nothing.
func TestFetchInAChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("only a child process runs this")
	}
	c := open(t, dir, image.Options{})
	_, err := c.Ensure(t.Context(), raw(os.Getenv(childURL), os.Getenv(childSum)), nil)
	require.NoError(t, err)
}

func TestEnsureResumesAfterAKill(t *testing.T) {
	// More than one sync step, so that the record has a length too.
	data := content(t, 80*mib)
	sum := sha256Of(data)
	const cut = 70 * mib
	s := serve(t, func(w http.ResponseWriter, r *http.Request, request int) {
		if request == 1 { // send a part, then hang until the client is gone
			w.Header().Set("ETag", `"a"`)
			w.Header().Set("Content-Length", strconv.Itoa(len(data)))
			_, _ = w.Write(data[:cut])
			flush(w)
			<-r.Context().Done()
			return
		}
		serveContent(w, r, `"a"`, data)
	})
	kill := func(t *testing.T, dir string) {
		t.Helper()
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFetchInAChild$")
		child.Env = append(os.Environ(), childDir+"="+dir, childURL+"="+s.URL, childSum+"="+sum)
		child.Stdout, child.Stderr = io.Discard, io.Discard
		require.NoError(t, child.Start())
		require.Eventually(t, func() bool { return partialSize(dir) == cut }, 2*time.Minute, 5*time.Millisecond)
		require.NoError(t, child.Process.Kill()) // SIGKILL
		require.Error(t, child.Wait())
	}
	t.Run("from the byte where it stopped", func(t *testing.T) {
		s.reset()
		dir := t.TempDir()
		kill(t, dir)
		img, err := open(t, dir, image.Options{}).Ensure(t.Context(), raw(s.URL, sum), nil)
		require.NoError(t, err)
		requireImage(t, img, data)
		require.Equal(t, "bytes="+strconv.Itoa(cut)+"-", s.asked()[1].Get("Range"))
		require.Equal(t, int64(len(data)), s.bytesSent())
	})
	t.Run("from the recorded byte after a power cut", func(t *testing.T) {
		s.reset()
		dir := t.TempDir()
		kill(t, dir)
		// Another boot: what was not synced may be garbage.
		state, data2 := partialFiles(t, dir)
		record, err := os.ReadFile(state)
		require.NoError(t, err)
		boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
		require.NoError(t, err)
		changed := strings.ReplaceAll(string(record), strings.TrimSpace(string(boot)), "another")
		require.NotEqual(t, string(record), changed)
		require.NoError(t, os.WriteFile(state, []byte(changed), 0o600))
		overwrite(t, data2, cut-mib, make([]byte, mib))

		img, err := open(t, dir, image.Options{}).Ensure(t.Context(), raw(s.URL, sum), nil)
		require.NoError(t, err)
		requireImage(t, img, data)
		require.Less(t, s.bytesSent(), int64(len(data)+33*mib), "it starts at the last recorded byte")
		require.NotEmpty(t, s.asked()[1].Get("Range"))
	})
	t.Run("from the start if what is here has gone bad", func(t *testing.T) {
		s.reset()
		dir := t.TempDir()
		kill(t, dir)
		_, data2 := partialFiles(t, dir)
		overwrite(t, data2, mib, make([]byte, mib))
		img, err := open(t, dir, image.Options{}).Ensure(t.Context(), raw(s.URL, sum), nil)
		require.NoError(t, err)
		requireImage(t, img, data)
		require.Len(t, s.asked(), 3)
	})
}

func (s *server) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.sent = nil, 0
}

func partialFiles(t *testing.T, dir string) (state, data string) {
	t.Helper()
	states, err := filepath.Glob(filepath.Join(dir, "partial", "*.json"))
	require.NoError(t, err)
	require.Len(t, states, 1)
	return states[0], strings.TrimSuffix(states[0], ".json")
}

func partialSize(dir string) int64 {
	states, err := filepath.Glob(filepath.Join(dir, "partial", "*.json"))
	if err != nil || len(states) != 1 {
		return -1
	}
	info, err := os.Stat(strings.TrimSuffix(states[0], ".json"))
	if err != nil {
		return -1
	}
	return info.Size()
}

func overwrite(t *testing.T, path string, offset int64, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteAt(data, offset)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func TestOpenCleansWhatCannotBeGoneOnWith(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, image.Options{})
	old := time.Now().Add(-8 * 24 * time.Hour)
	for _, name := range []string{"no-record", "record-only.json", "old", "old.json", "good", "good.json", ".x.json.berth-tmp"} {
		path := filepath.Join(dir, "partial", name)
		require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
		if strings.HasPrefix(name, "old") {
			require.NoError(t, os.Chtimes(path, old, old))
		}
	}
	open(t, dir, image.Options{})
	requirePartials(t, dir, 2)
	require.FileExists(t, filepath.Join(dir, "partial", "good"))
	require.FileExists(t, filepath.Join(dir, "partial", "good.json"))
}
