package image_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/disk"
	"github.com/berth-dev/berth/activities/image"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// race makes disks of an image while it is removed over and over, however lately it was used.
type race struct {
	*shelf
	url, path        string
	removed, retried atomic.Int64
}

// TestDisksAreNeverWithoutTheirImage ends when enough disks were made, and the image was removed often enough in between.
func TestDisksAreNeverWithoutTheirImage(t *testing.T) {
	const makers, disks, removals = 3, 4, 3
	s, data := newShelf(t), content(t, mib/4)
	srv := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) { serveContent(w, r, `"a"`, data) })
	r := &race{shelf: s, url: srv.URL, path: s.fetch(srv.URL).Path}

	done := make(chan struct{})
	var remover, group sync.WaitGroup
	var removerErr error
	remover.Go(func() {
		for removerErr == nil {
			select {
			case <-done:
				return
			default:
				_, removerErr = r.remove()
			}
		}
	})
	errs := make([]error, makers)
	for i := range makers {
		group.Go(func() {
			dir := filepath.Join(s.disks, fmt.Sprint(i))
			errs[i] = os.MkdirAll(dir, 0o711)
			for made := 0; errs[i] == nil && (made < disks || r.removed.Load() < removals); made++ {
				errs[i] = r.makeAndRemove(filepath.Join(dir, "disk.qcow2"))
			}
		})
	}
	group.Wait()
	close(done)
	remover.Wait()
	require.NoError(t, errors.Join(append(errs, removerErr)...))
	t.Logf("%d removals; %d times an image was gone before a disk was made of it", r.removed.Load(), r.retried.Load())
}

// remove removes the image as if it had not been used for long, and says why it was kept; nothing if it is gone.
func (r *race) remove() (string, error) {
	then := time.Now().Add(-2 * keep)
	if os.Chtimes(r.path, then, then) != nil {
		return "", nil
	}
	kept, err := r.discard(orphan(image.Image{Path: r.path}))
	if err == nil && kept == "" {
		r.removed.Add(1)
	}
	return kept, err
}

// makeAndRemove makes a disk, which keeps the image, and removes it.
func (r *race) makeAndRemove(path string) error {
	for {
		base, err := r.Ensure(r.t.Context(), raw(r.url, ""), nil)
		if err == nil {
			err = r.Use(base, func() error { return disk.CreateOverlay(r.t.Context(), base.Path, base.Format, path, 0) })
		}
		var own *contract.Error
		if errors.As(err, &own) && own.Reason == v1.ReasonRuntimeError && !own.Permanent {
			r.retried.Add(1) // it was removed in between, and is fetched again
			continue
		}
		if err != nil {
			return err
		}
		break
	}
	kept, err := r.remove()
	if err != nil {
		return err
	}
	if kept == "" {
		return errors.New("the image was removed from below a disk")
	}
	if _, err := disk.InspectAs(r.path, v1.FormatRaw); err != nil {
		return err
	}
	return os.Remove(path)
}
