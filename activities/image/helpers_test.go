package image_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/image"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const mib = 1 << 20

func content(t *testing.T, size int) []byte {
	t.Helper()
	data := make([]byte, size)
	_, err := rand.Read(data)
	require.NoError(t, err)
	return data
}

func sha256Of(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func sha512Of(data []byte) string {
	sum := sha512.Sum512(data)
	return "sha512:" + hex.EncodeToString(sum[:])
}

func open(t *testing.T, dir string, opts image.Options) *image.Cache {
	t.Helper()
	if opts.StallTimeout == 0 {
		opts.StallTimeout = 20 * time.Second
	}
	c, err := image.Open(dir, opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// server serves one image and remembers what it was asked for.
type server struct {
	*httptest.Server

	mu       sync.Mutex
	requests []http.Header
	sent     int64
}

// serve starts a server. handle may write to w through a counting writer; http.ServeContent does ranges.
func serve(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, request int)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.Header.Clone())
		number := len(s.requests)
		s.mu.Unlock()
		handle(&counting{ResponseWriter: w, server: s}, r, number)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *server) asked() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]http.Header(nil), s.requests...)
}

func (s *server) bytesSent() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

type counting struct {
	http.ResponseWriter
	server *server
}

func (c *counting) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.sent += int64(n)
	return n, err
}

func (c *counting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// flush pushes out what was written so far.
func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// serveContent answers as a good file server does.
func serveContent(w http.ResponseWriter, r *http.Request, etag string, data []byte) {
	if etag != "" {
		w.Header().Set("ETag", etag)
	}
	modified, _ := http.ParseTime(w.Header().Get("Last-Modified")) // zero means none
	http.ServeContent(w, r, "disk.img", modified, bytes.NewReader(data))
}

// limited drops the connection after some bytes of a body.
type limited struct {
	http.ResponseWriter
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	if len(b) > l.left {
		_, _ = l.ResponseWriter.Write(b[:l.left])
		flush(l.ResponseWriter)
		panic(http.ErrAbortHandler)
	}
	l.left -= len(b)
	return l.ResponseWriter.Write(b)
}

func raw(url, checksum string) v1.DiskImage {
	return v1.DiskImage{URL: url, Checksum: checksum, Format: v1.FormatRaw}
}

func requireReason(t *testing.T, err error, reason v1.Reason, permanent bool) {
	t.Helper()
	var own *contract.Error
	require.ErrorAs(t, err, &own)
	require.Equal(t, reason, own.Reason, "%v", err)
	require.Equal(t, permanent, own.Permanent, "%v", err)
}

func requireImage(t *testing.T, img image.Image, data []byte) {
	t.Helper()
	got, err := os.ReadFile(img.Path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got), "the content differs")
	require.Equal(t, sha256Of(data), img.Digest)
	info, err := os.Stat(img.Path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o444), info.Mode().Perm())
	requirePartials(t, filepath.Dir(img.Path), 0)
}

// requirePartials counts the files of unfinished fetches.
func requirePartials(t *testing.T, dir string, count int) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "partial"))
	require.NoError(t, err)
	require.Len(t, entries, count)
}

func requireNoImages(t *testing.T, c *image.Cache) {
	t.Helper()
	images, err := c.List()
	require.NoError(t, err)
	require.Empty(t, images)
}

// contentServer serves an image, with or without telling its length first.
func contentServer(data []byte, chunked bool) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, r *http.Request, _ int) {
		if chunked {
			flush(w)
		}
		serveContent(w, r, "", data)
	}
}
