package image

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/berth-dev/berth/activities/disk"
	v1 "github.com/berth-dev/berth/api/v1"
)

// reportEvery is how often those who wait for a fetch hear of it.
const reportEvery = 200 * time.Millisecond

// flight is one running fetch and those who wait for it. waiters and abandoned are guarded by the cache's mutex; image
// and err are set before done is closed.
type flight struct {
	source    source
	cancel    context.CancelFunc
	waiters   int
	abandoned bool

	done  chan struct{}
	image Image
	err   error

	mu       sync.Mutex
	progress v1.Progress
}

func (f *flight) report(p v1.Progress) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.progress = p
}

func (f *flight) latest() v1.Progress {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.progress
}

// join makes the caller a waiter of the fetch of s, which is started if there is none. If an abandoned one is still
// ending, its channel is returned instead.
func (c *Cache) join(ctx context.Context, s source) (*flight, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.flights[s.key]; f != nil {
		if f.abandoned {
			return nil, f.done
		}
		f.waiters++
		return f, nil
	}
	// The fetch outlives the first who asked, as long as there are others.
	fetchCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight{source: s, cancel: cancel, waiters: 1, done: make(chan struct{})}
	c.flights[s.key] = f
	c.running.Go(func() {
		for landed := false; !landed; {
			f.image, f.err = c.fetch(fetchCtx, s, f.report)
			landed = c.land(f)
		}
		cancel()
		close(f.done)
	})
	return f, nil
}

// land ends a flight and notes the use of its image. It reports false if the image was removed just after it was found.
func (c *Cache) land(f *flight) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.err == nil {
		err := touch(f.image.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return false
		}
		f.err = disk.Classify("note the use of an image", err)
	}
	delete(c.flights, f.source.key)
	return true
}

// wait waits for a fetch that the caller has joined. The last who leaves ends it.
func (c *Cache) wait(ctx context.Context, f *flight, progress func(v1.Progress)) (Image, error) {
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	for {
		select {
		case <-f.done:
			progress(f.latest())
			return f.image, f.err
		case <-ticker.C:
			progress(f.latest())
		case <-ctx.Done():
			c.leave(f)
			return Image{}, ctx.Err()
		}
	}
}

func (c *Cache) leave(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.waiters--; f.waiters == 0 {
		f.abandoned = true
		f.cancel()
	}
}
