package image

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/berth-dev/berth/activities/disk"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Use calls do, which makes a disk of an image. As long as it runs the image stays; a disk that is based on the image keeps it
// from then on. An image that was removed since Ensure returned it is a retryable RuntimeError: Ensure fetches it again.
func (c *Cache) Use(image Image, do func() error) error {
	if err := c.begin(image); err != nil {
		return err
	}
	defer c.end(image)
	return do()
}

func (c *Cache) begin(image Image) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := touch(image.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return contract.Retryable(v1.ReasonRuntimeError, "Berth fetches it again by itself",
			"the image %s was removed before a disk was made of it", image.Digest).WithCause(err)
	}
	if err != nil {
		return disk.Classify("note the use of an image", err)
	}
	c.uses[image.Path]++
	return nil
}

func (c *Cache) end(image Image) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.uses[image.Path]--; c.uses[image.Path] == 0 {
		delete(c.uses, image.Path)
	}
	_ = touch(image.Path) // the use was noted when it began
}

// touch notes that an image is used now, in the modification time of its file, which nobody writes to: so both go together.
// The cache's mutex is held. It is not synced: what a power cut takes is half a minute, and of no image with a disk on it.
func touch(path string) error { return os.Chtimes(path, time.Time{}, time.Now()) }

// needed says what needs an image; empty if nothing does. bases are what disks name as their backing files. The cache's mutex
// is held.
func (c *Cache) needed(name string, bases []string) string {
	path := c.path(name)
	if c.uses[path] > 0 {
		return "a disk is being made of it"
	}
	for _, f := range c.flights {
		if image, _, ok := c.lookup(f.source); ok && image.Path == path {
			return "it is asked for"
		}
	}
	if isBase(name, bases) {
		return "a disk is based on it"
	}
	return ""
}
