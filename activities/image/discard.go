package image

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"github.com/berth-dev/berth/activities/disk"
	"github.com/berth-dev/berth/activities/failpoint"
	"github.com/berth-dev/berth/activities/step"
	"github.com/berth-dev/berth/workflows/contract"
)

// discardImage removes an image if it is still used by nothing. While it looks, nobody begins to use it: who wants it then
// fetches it again.
func (c *Cache) discardImage(ctx context.Context, call *step.Call, o contract.Orphan) (kept string, err error) {
	name := o.Thing.Name
	if !isImage(name) {
		return "it is no image", nil
	}
	err = call.Mutate(ctx, "image.remove", func(context.Context) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		now, found, err := c.thing(name)
		if err != nil || !found {
			return err
		}
		bases, err := disk.Backings(c.opts.Disks)
		if err != nil {
			return err
		}
		switch why := c.needed(name, bases); {
		case why != "":
			kept = why
		case c.opts.Keep <= 0:
			kept = "images are kept for ever here"
		case now.Age < c.opts.Keep:
			kept = "it was used since"
		default:
			kept = o.Differs(now)
		}
		if kept != "" {
			return nil
		}
		return c.remove(name)
	})
	return kept, err
}

// remove removes an image that nobody needs, under the cache's mutex. Its entries go first: after a crash in between, it is
// still there for the next sweep to find, and who asks for it by a source fetches it again.
func (c *Cache) remove(name string) error {
	if err := c.forget(name); err != nil {
		return disk.Classify("remove an image", err)
	}
	failpoint.Hit("image.remove.forgotten", name)
	if err := os.Remove(c.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return disk.Classify("remove an image", err)
	}
	return nil
}

// forget removes the entries that lead to an image. Those that can't be read lead nowhere.
func (c *Cache) forget(name string) error {
	c.indexMu.Lock()
	defer c.indexMu.Unlock()
	entries, err := os.ReadDir(c.path(indexDir))
	if err != nil {
		return err
	}
	for _, file := range entries {
		var e entry
		data, err := os.ReadFile(c.path(indexDir, file.Name()))
		if err != nil || json.Unmarshal(data, &e) != nil || c.imagePath(e.SHA256, e.Format) != c.path(name) {
			continue
		}
		if err := os.Remove(c.path(indexDir, file.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
