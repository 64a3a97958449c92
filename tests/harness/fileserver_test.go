package harness

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const fileSize = 256 << 10

func serveRandom(t *testing.T) (*FileServer, []byte) {
	t.Helper()
	data := make([]byte, fileSize)
	_, err := rand.Read(data)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "disk.raw")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return ServeFile(t, path), data
}

// get fetches from an offset, and returns what came before the end or the error.
func get(ctx context.Context, t *testing.T, url string, from int) (int, []byte, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	if from > 0 {
		req.Header.Set("Range", "bytes="+strconv.Itoa(from)+"-")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, data, err
}

func TestFileServerServesWholeAndParts(t *testing.T) {
	f, want := serveRandom(t)
	status, data, err := get(t.Context(), t, f.URL, 0)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.True(t, bytes.Equal(want, data))

	status, data, err = get(t.Context(), t, f.URL, 1000)
	require.NoError(t, err)
	require.Equal(t, http.StatusPartialContent, status)
	require.True(t, bytes.Equal(want[1000:], data))
	require.Equal(t, Served{Requests: 2, Ranged: 1, Bytes: 2*fileSize - 1000}, f.Served())
}

func TestFileServerDropsAndIsResumed(t *testing.T) {
	f, want := serveRandom(t)
	const every = 100_000
	f.Set(Trouble{DropEvery: every})
	var got []byte
	for tries := 0; len(got) < len(want); tries++ {
		require.Less(t, tries, 3, "each try brings %d bytes of %d", every, len(want))
		_, data, err := get(t.Context(), t, f.URL, len(got))
		got = append(got, data...)
		require.Equal(t, len(got) < len(want), err != nil, "only the last try comes to its end: %v", err)
	}
	require.True(t, bytes.Equal(want, got))
}

func TestFileServerStallsUntilChanged(t *testing.T) {
	f, want := serveRandom(t)
	f.Set(Trouble{StallAfter: 50_000})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL, nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	begun := make([]byte, 50_000)
	_, err = io.ReadFull(res.Body, begun)
	require.NoError(t, err)
	time.AfterFunc(300*time.Millisecond, cancel)
	n, err := res.Body.Read(begun)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, n, "nothing more came")

	// A body that stalls goes on once the server is well again.
	time.AfterFunc(50*time.Millisecond, func() { f.Set(Trouble{}) })
	_, data, err := get(t.Context(), t, f.URL, 0)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, data))
}

func TestFileServerStatusAndNoRanges(t *testing.T) {
	f, want := serveRandom(t)
	f.Set(Trouble{Status: http.StatusNotFound})
	status, _, err := get(t.Context(), t, f.URL, 0)
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, status)

	f.Set(Trouble{NoRanges: true})
	status, data, err := get(t.Context(), t, f.URL, 1000)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Len(t, data, len(want))
}

func TestFileServerIsAsSlowAsAsked(t *testing.T) {
	f, want := serveRandom(t)
	f.Set(Trouble{BytesPerSecond: 4 * fileSize})
	start := time.Now()
	_, data, err := get(t.Context(), t, f.URL, 0)
	require.NoError(t, err)
	require.Len(t, data, len(want))
	require.GreaterOrEqual(t, time.Since(start), 240*time.Millisecond)
}
