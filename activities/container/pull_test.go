package container_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/docker/docker/api/types/image"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/container"
	"github.com/berth-dev/berth/activities/container/docker"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const layerSize = 4 << 20

// registryServer is a registry on loopback. While it stalls, it sends the beginning of each layer and no more.
type registryServer struct {
	h       *host
	http    *httptest.Server
	stalls  atomic.Bool
	stalled atomic.Int32 // how often it did
	release chan struct{}
}

func newRegistry(h *host) *registryServer {
	r := &registryServer{h: h, release: make(chan struct{})}
	server := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)))
	r.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if r.stalls.Load() && req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/blobs/") {
			w = &stallingWriter{ResponseWriter: w, r: r, done: req.Context().Done()}
		}
		server.ServeHTTP(w, req)
	}))
	h.t.Cleanup(func() {
		r.http.CloseClientConnections()
		r.http.Close()
	})
	return r
}

type stallingWriter struct {
	http.ResponseWriter
	r    *registryServer
	done <-chan struct{}
	sent int
}

func (w *stallingWriter) Write(p []byte) (int, error) {
	head := min(len(p), max(0, layerSize/2-w.sent))
	w.sent += len(p)
	if n, err := w.ResponseWriter.Write(p[:head]); err != nil || head == len(p) {
		return n, err
	}
	w.ResponseWriter.(http.Flusher).Flush()
	w.r.stalled.Add(1)
	select {
	case <-w.done:
	case <-w.r.release:
	}
	n, err := w.ResponseWriter.Write(p[head:])
	return head + n, err
}

// push makes an image that can't be compressed, and that only the registry has.
func (r *registryServer) push() string {
	t, cl := r.h.t, r.h.cl
	ref := strings.TrimPrefix(r.http.URL, "http://") + "/" + strings.ToLower(rand.Text()[:10]) + ":1"
	noise := make([]byte, layerSize)
	_, _ = rand.Read(noise)
	var tree bytes.Buffer
	w := tar.NewWriter(&tree)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: "noise", Typeflag: tar.TypeReg, Mode: 0o644, Size: layerSize}))
	_, err := w.Write(noise)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	out, err := cl.ImageImport(t.Context(), image.ImportSource{Source: &tree, SourceName: "-"}, ref, image.ImportOptions{})
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, out)
	require.NoError(t, err)
	auth := base64.URLEncoding.EncodeToString([]byte("{}"))
	out, err = cl.ImagePush(t.Context(), ref, image.PushOptions{RegistryAuth: auth})
	require.NoError(t, err)
	said, err := io.ReadAll(out)
	require.NoError(t, err)
	require.NotContains(t, string(said), "errorDetail")
	_, err = cl.ImageRemove(t.Context(), ref, image.RemoveOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = cl.ImageRemove(context.Background(), ref, image.RemoveOptions{Force: true}) })
	return ref
}

func pulling(ref string) contract.StepIn {
	spec := sleeper()
	spec.Image, spec.Pull = ref, v1.PullMissing
	return request(spec, 1, 10)
}

func TestPull(t *testing.T) {
	h := newHost(t)
	ref := newRegistry(h).push()
	require.Contains(t, h.must(contract.StepPrepare, pulling(ref)).Found, "pulled")
	require.Contains(t, h.must(contract.StepPrepare, pulling(ref)).Found, "on the host")
	always := pulling(ref)
	always.Spec.Container.Pull = v1.PullAlways
	require.Contains(t, h.must(contract.StepPrepare, always).Found, "pulled")
}

func TestPullOfWhatIsNotThere(t *testing.T) {
	h := newHost(t)
	ref := newRegistry(h).push()
	for _, missing := range []string{ref + "2", strings.Replace(ref, ":1", "none:1", 1)} {
		_, failure := h.do(contract.StepPrepare, pulling(missing))
		require.NotNil(t, failure)
		require.Equal(t, v1.ReasonImageNotFound, failure.Reason, "%+v", failure)
		require.True(t, failure.Permanent)
		require.NotEmpty(t, failure.Advice)
	}
	never := pulling(ref)
	never.Spec.Container.Pull = v1.PullNever
	_, failure := h.do(contract.StepPrepare, never)
	require.NotNil(t, failure)
	require.Equal(t, v1.ReasonImageNotFound, failure.Reason)
}

func TestPullFromNowhere(t *testing.T) {
	h := newHost(t)
	r := newRegistry(h)
	ref := r.push()
	r.http.Close()
	_, failure := h.do(contract.StepPrepare, pulling(ref))
	require.NotNil(t, failure)
	require.Equal(t, v1.ReasonFetchFailed, failure.Reason, "%+v", failure)
	require.False(t, failure.Permanent)
}

func TestPullThatStalls(t *testing.T) {
	h := newHost(t, func(c *container.Config) { c.StallTimeout = 2 * time.Second })
	r := newRegistry(h)
	ref := r.push()
	r.stalls.Store(true)
	begin := time.Now()
	_, failure := h.do(contract.StepPrepare, pulling(ref))
	require.NotNil(t, failure)
	require.Equal(t, v1.ReasonFetchStalled, failure.Reason, "%+v", failure)
	require.False(t, failure.Permanent)
	require.Less(t, time.Since(begin), time.Minute, "less than the default")
	require.Regexp(t, `after [1-9][0-9]+ bytes`, failure.Message)

	r.stalls.Store(false)
	_, rt := newCounting(h) // a disk may stall for longer than that
	_, failure = h.as(rt, contract.StepPrepare, pulling(ref))
	require.Nil(t, failure)
}

// counting counts the pulls of a real driver.
type counting struct {
	container.Driver
	begun, open atomic.Int32
}

func (d *counting) Pull(ctx context.Context, ref string, progressed func(done, total int64)) error {
	d.begun.Add(1)
	d.open.Add(1)
	defer d.open.Add(-1)
	return d.Driver.Pull(ctx, ref, progressed)
}

func newCounting(h *host) (*counting, *container.Runtime) {
	d, err := docker.New("")
	require.NoError(h.t, err)
	h.t.Cleanup(func() { require.NoError(h.t, d.Close()) })
	driver := &counting{Driver: d}
	return driver, container.New(container.Config{Fleet: h.fleet, Host: "h1"}, driver)
}

func TestPullIsShared(t *testing.T) {
	h := newHost(t)
	driver, rt := newCounting(h)
	r := newRegistry(h)
	ref := r.push()
	r.stalls.Store(true)

	var wg sync.WaitGroup
	outcomes := [3]*contract.Error{}
	for n := range outcomes {
		in := pulling(ref)
		in.Ref.Workload = []string{"a", "b", "c"}[n]
		wg.Go(func() { _, outcomes[n] = h.as(rt, contract.StepPrepare, in) })
	}
	require.Eventually(t, func() bool {
		for _, workload := range []string{"a", "b", "c"} {
			if p := h.progress(workload); p.Done == 0 || p.Done >= p.Total || p.Total < layerSize || p.Step != "container.Prepare" {
				return false
			}
		}
		return true
	}, 2*time.Minute, 10*time.Millisecond, "all three tell of the same bytes")

	// One of them is superseded: the others go on with the pull.
	later := pulling(ref)
	later.Ref.Workload, later.Ref.Fence, later.Spec.Container.Pull = "a", 11, v1.PullNever
	_, failure := h.as(rt, contract.StepPrepare, later)
	require.Equal(t, v1.ReasonImageNotFound, failure.Reason)
	require.Equal(t, int32(1), driver.open.Load())
	close(r.release)
	wg.Wait()
	require.Equal(t, v1.ReasonStaleFence, outcomes[0].Reason)
	require.Nil(t, outcomes[1])
	require.Nil(t, outcomes[2])
	require.Equal(t, int32(1), driver.begun.Load())
}

func TestPullEndsWithItsLastWaiter(t *testing.T) {
	h := newHost(t)
	driver, rt := newCounting(h)
	r := newRegistry(h)
	ref := r.push()
	r.stalls.Store(true)
	over := make(chan *contract.Error, 1)
	go func() { _, failure := h.as(rt, contract.StepPrepare, pulling(ref)); over <- failure }()
	require.Eventually(t, func() bool { return r.stalled.Load() == 1 }, 2*time.Minute, 10*time.Millisecond)

	later := pulling(ref)
	later.Ref.Fence, later.Spec.Container.Pull = 11, v1.PullNever
	_, failure := h.as(rt, contract.StepPrepare, later)
	require.Equal(t, v1.ReasonImageNotFound, failure.Reason)
	require.Equal(t, v1.ReasonStaleFence, (<-over).Reason)
	require.Eventually(t, func() bool { return driver.open.Load() == 0 }, 2*time.Minute, 10*time.Millisecond)
}
