package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Trouble is how a FileServer misbehaves. The zero value is a good server.
type Trouble struct {
	// Status, if set, answers every request.
	Status int
	// DropEvery ends each connection after so many bytes of a body.
	DropEvery int64
	// StallAfter sends nothing more of a body after so many bytes, and keeps the connection open.
	StallAfter int64
	// BytesPerSecond slows bodies down.
	BytesPerSecond int64
	// NoRanges answers every request with the whole file.
	NoRanges bool
}

// Served counts what a FileServer was asked and sent.
type Served struct {
	// Requests are all requests, Ranged those that asked for a part.
	Requests, Ranged int
	// Bytes are those of bodies.
	Bytes int64
}

// FileServer serves one file by HTTP on loopback, with Range support, as badly as a test wants.
type FileServer struct {
	// URL is the file's address.
	URL string

	path, etag string
	closed     chan struct{}

	mu      sync.Mutex
	trouble Trouble
	served  Served
	changed chan struct{}
}

// ServeFile serves a file until the test ends.
func ServeFile(t testing.TB, path string) *FileServer {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	sum := sha256.Sum256(data)
	f := &FileServer{
		path: path, etag: `"` + hex.EncodeToString(sum[:8]) + `"`,
		closed: make(chan struct{}), changed: make(chan struct{}),
	}
	srv := httptest.NewServer(f)
	f.URL = srv.URL + "/" + path[strings.LastIndexByte(path, '/')+1:]
	t.Cleanup(func() {
		close(f.closed)
		srv.CloseClientConnections()
		srv.Close()
	})
	return f
}

// Set changes how the server misbehaves, also for bodies that it is sending: those that stall go on.
func (f *FileServer) Set(trouble Trouble) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trouble = trouble
	close(f.changed)
	f.changed = make(chan struct{})
}

// Served returns the counts so far.
func (f *FileServer) Served() Served {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.served
}

// ServeHTTP answers a request for the file.
func (f *FileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.served.Requests++
	if r.Header.Get("Range") != "" {
		f.served.Ranged++
	}
	trouble := f.trouble
	f.mu.Unlock()

	if trouble.Status != 0 {
		w.WriteHeader(trouble.Status)
		return
	}
	file, err := os.Open(f.path)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer file.Close()
	if trouble.NoRanges {
		r.Header.Del("Range")
	}
	w.Header().Set("ETag", f.etag)
	http.ServeContent(&body{ResponseWriter: w, server: f, request: r}, r, "", time.Time{}, file)
}

// look returns the trouble of now, and a channel that closes when it changes.
func (f *FileServer) look() (Trouble, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.trouble, f.changed
}

func (f *FileServer) count(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.served.Bytes += int64(n)
}

// body is one answer's body. It has no ReadFrom: every byte passes Write.
type body struct {
	http.ResponseWriter
	server  *FileServer
	request *http.Request
	sent    int64
}

// piece is how much is sent between two looks at the trouble.
const piece = 16 << 10

func (b *body) Write(p []byte) (int, error) {
	var written int
	for written < len(p) {
		trouble, changed := b.server.look()
		size := int64(min(piece, len(p)-written))
		if trouble.DropEvery > 0 {
			if b.sent >= trouble.DropEvery {
				panic(http.ErrAbortHandler) // the way to end a connection in the midst of a body
			}
			size = min(size, trouble.DropEvery-b.sent)
		}
		if trouble.StallAfter > 0 {
			if b.sent >= trouble.StallAfter {
				if err := b.wait(changed, 0); err != nil {
					return written, err
				}
				continue
			}
			size = min(size, trouble.StallAfter-b.sent)
		}
		n, err := b.ResponseWriter.Write(p[written : written+int(size)])
		written += n
		b.sent += int64(n)
		b.server.count(n)
		if err == nil {
			err = http.NewResponseController(b.ResponseWriter).Flush()
		}
		if err == nil && trouble.BytesPerSecond > 0 {
			err = b.wait(changed, time.Duration(n)*time.Second/time.Duration(trouble.BytesPerSecond))
		}
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// wait returns after the trouble changed, or after d unless that is zero; with an error if nobody listens any more.
func (b *body) wait(changed <-chan struct{}, d time.Duration) error {
	var after <-chan time.Time
	if d > 0 {
		after = time.After(d)
	}
	select {
	case <-changed:
	case <-after:
	case <-b.request.Context().Done():
		return b.request.Context().Err()
	case <-b.server.closed:
		return http.ErrServerClosed
	}
	return nil
}
