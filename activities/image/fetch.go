package image

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/berth-dev/berth/activities/disk"
	"github.com/berth-dev/berth/activities/failpoint"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// fetch gets an image for a flight: from the cache if it is there, else from its source.
func (c *Cache) fetch(ctx context.Context, s source, report func(v1.Progress)) (Image, error) {
	if s.path != "" {
		return c.fetchLocal(ctx, s, report)
	}
	image, e, ok := c.lookup(s)
	if ok && (s.alg != "" || c.unchanged(ctx, s, e)) {
		return image, nil
	}
	if err := c.acquire(ctx, s, report); err != nil {
		return Image{}, err
	}
	defer c.slots.Release(1)
	return c.fetchHTTP(ctx, s, report)
}

func (c *Cache) acquire(ctx context.Context, s source, report func(v1.Progress)) error {
	if c.slots.TryAcquire(1) {
		return nil
	}
	report(v1.Progress{Detail: "waiting for a download slot for " + s.name})
	return c.slots.Acquire(ctx, 1)
}

// verify compares the whole with the checksum.
func verify(s source, p *partial) error {
	if s.alg == "" {
		return nil
	}
	if got := p.sums.sum(s.alg); got != s.sum {
		return contract.Permanent(v1.ReasonDigestMismatch, "correct the checksum, or do not trust this source",
			"%s has the checksum %s:%s, not %s:%s", s.where, s.alg, got, s.alg, s.sum)
	}
	return nil
}

// publish makes a verified partial file an image of the cache. On failure the caller discards it.
func (c *Cache) publish(s source, p *partial, e entry) (Image, error) {
	if _, err := disk.InspectAs(p.path, s.format); err != nil {
		return Image{}, renamed(err, p.path, s.where)
	}
	e.SHA256 = p.sums.sum(algSHA256)
	image, ok := c.cached(e.SHA256, s.format)
	if ok {
		p.discard() // the same content came from elsewhere
	} else if err := c.install(s, p, c.imagePath(e.SHA256, s.format)); err != nil {
		return Image{}, disk.Classify("store "+s.name, err)
	} else if image, ok = c.cached(e.SHA256, s.format); !ok {
		return Image{}, contract.Retryable(v1.ReasonRuntimeError, "look at the host's disks", "%s vanished after it was stored", s.name)
	}
	return image, c.remember(s, e)
}

func (c *Cache) install(s source, p *partial, path string) error {
	failpoint.Hit("image.store.before", s.name)
	defer failpoint.Hit("image.store.after", s.name)
	if err := p.file.Chmod(0o444); err != nil {
		return err
	}
	if err := p.file.Sync(); err != nil {
		return err
	}
	if err := os.Rename(p.path, path); err != nil {
		return err
	}
	if err := disk.SyncDir(filepath.Dir(path)); err != nil {
		return err
	}
	p.discard() // only its record is left
	return nil
}

// renamed puts the name that a user knows into an error about a file that he does not.
func renamed(err error, from, to string) error {
	own, ok := err.(*contract.Error) //nolint:errorlint // only an error that is not wrapped is reworded
	if !ok {
		return err
	}
	e := *own
	e.Message = strings.ReplaceAll(e.Message, from, to)
	return &e
}
