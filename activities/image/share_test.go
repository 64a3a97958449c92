package image_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/image"
	v1 "github.com/berth-dev/berth/api/v1"
)

// gate is a server that sends half of an image, and the rest when it is opened. It counts the connections that are open.
type gate struct {
	*server
	open    chan struct{}
	serving atomic.Int64
	most    atomic.Int64
}

func newGate(t *testing.T, data []byte) *gate {
	t.Helper()
	g := &gate{open: make(chan struct{})}
	g.server = serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		n := g.serving.Add(1)
		defer g.serving.Add(-1)
		for m := g.most.Load(); n > m && !g.most.CompareAndSwap(m, n); m = g.most.Load() {
		}
		if r.Header.Get("Range") != "" {
			serveContent(w, r, `"a"`, data)
			return
		}
		w.Header().Set("ETag", `"a"`)
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data[:len(data)/2])
		flush(w)
		select {
		case <-g.open:
			_, _ = w.Write(data[len(data)/2:])
		case <-r.Context().Done():
		}
	})
	return g
}

func (g *gate) waitServing(t *testing.T, n int64) {
	t.Helper()
	require.Eventually(t, func() bool { return g.serving.Load() == n }, 2*time.Minute, time.Millisecond)
}

func TestEnsureTwentyAtOnceAreOneFetch(t *testing.T) {
	data := content(t, 2*mib)
	g := newGate(t, data)
	c := open(t, t.TempDir(), image.Options{})

	var group sync.WaitGroup
	var heard atomic.Int64
	images, errs := make([]image.Image, 20), make([]error, 20)
	for i := range images {
		group.Go(func() {
			var once sync.Once
			images[i], errs[i] = c.Ensure(t.Context(), raw(g.URL, sha256Of(data)), func(p v1.Progress) {
				if p.Done == mib {
					once.Do(func() { heard.Add(1) })
				}
			})
		})
	}
	require.Eventually(t, func() bool { return heard.Load() == 20 }, 2*time.Minute, time.Millisecond)
	close(g.open)
	group.Wait()
	for i := range images {
		require.NoError(t, errs[i])
		require.Equal(t, images[0], images[i])
	}
	requireImage(t, images[0], data)
	require.Len(t, g.asked(), 1)
}

func TestEnsureEndsWithItsLastWaiter(t *testing.T) {
	data := content(t, 2*mib)
	g := newGate(t, data)
	dir := t.TempDir()
	c := open(t, dir, image.Options{})

	type waiter struct {
		cancel context.CancelFunc
		ended  chan error
	}
	start := func() waiter {
		ctx, cancel := context.WithCancel(t.Context())
		w := waiter{cancel, make(chan error, 1)}
		joined := make(chan struct{})
		var once sync.Once
		go func() {
			_, err := c.Ensure(ctx, raw(g.URL, sha256Of(data)), func(p v1.Progress) {
				if p.Done == mib {
					once.Do(func() { close(joined) })
				}
			})
			w.ended <- err
		}()
		<-joined
		return w
	}
	first, second := start(), start()

	first.cancel() // the one who started it leaves: it goes on for the other
	require.ErrorIs(t, <-first.ended, context.Canceled)
	third := start()
	require.Equal(t, int64(1), g.serving.Load())
	third.cancel()
	require.ErrorIs(t, <-third.ended, context.Canceled)
	require.Equal(t, int64(1), g.serving.Load())

	second.cancel()
	require.ErrorIs(t, <-second.ended, context.Canceled)
	g.waitServing(t, 0)

	// Whoever comes next goes on where it stopped, also if the one before is just ending.
	img, err := c.Ensure(t.Context(), raw(g.URL, sha256Of(data)), nil)
	require.NoError(t, err)
	requireImage(t, img, data)
	require.Len(t, g.asked(), 2)
	require.Equal(t, "bytes="+strconv.Itoa(mib)+"-", g.asked()[1].Get("Range"))
}

func TestEnsureWaitsForASlotAndSaysSo(t *testing.T) {
	data := content(t, mib)
	g := newGate(t, data)
	c := open(t, t.TempDir(), image.Options{MaxConcurrent: 2})

	var group sync.WaitGroup
	waiting := make(chan struct{}, 4)
	for i := range 4 {
		group.Go(func() {
			var once sync.Once
			_, err := c.Ensure(t.Context(), raw(g.URL+"/"+strconv.Itoa(i), sha256Of(data)), func(p v1.Progress) {
				if strings.HasPrefix(p.Detail, "waiting for a download slot") {
					once.Do(func() { waiting <- struct{}{} })
				}
			})
			require.NoError(t, err)
		})
	}
	<-waiting
	<-waiting
	g.waitServing(t, 2)
	close(g.open)
	group.Wait()
	require.Equal(t, int64(2), g.most.Load())
}

func TestCancelWhileWaitingForASlot(t *testing.T) {
	g := newGate(t, content(t, mib))
	c := open(t, t.TempDir(), image.Options{MaxConcurrent: 1})
	go func() { _, _ = c.Ensure(t.Context(), raw(g.URL+"/busy", ""), nil) }()
	g.waitServing(t, 1)

	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.Ensure(ctx, raw(g.URL+"/other", ""), func(v1.Progress) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, g.asked(), 1)
}

func TestCloseEndsFetchesAndKeepsTheirBytes(t *testing.T) {
	g := newGate(t, content(t, 2*mib))
	dir := t.TempDir()
	c := open(t, dir, image.Options{})
	ended := make(chan error, 1)
	var once sync.Once
	started := make(chan struct{})
	go func() {
		_, err := c.Ensure(t.Context(), raw(g.URL, ""), func(p v1.Progress) {
			if p.Done == mib {
				once.Do(func() { close(started) })
			}
		})
		ended <- err
	}()
	<-started
	c.Close()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Equal(t, int64(mib), partialSize(dir))
}
