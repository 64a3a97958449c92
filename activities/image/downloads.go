package image

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-dev/berth/activities/disk"
	"github.com/berth-dev/berth/activities/step"
	"github.com/berth-dev/berth/workflows/contract"
)

// downloads lists what was fetched in part.
func (c *Cache) downloads() ([]contract.Thing, error) {
	entries, err := os.ReadDir(c.path(partialDir))
	if err != nil {
		return nil, disk.Classify("list the downloads", err)
	}
	var all []contract.Thing
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), stateSuffix) || e.IsDir() {
			continue
		}
		if t, ok := c.download(e.Name()); ok {
			all = append(all, t)
		}
	}
	return all, nil
}

// download looks at one; false if there is none. Its own time is that of the last byte.
func (c *Cache) download(key string) (contract.Thing, bool) {
	info, err := os.Lstat(c.path(partialDir, key))
	if err != nil {
		return contract.Thing{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return contract.Thing{
		Kind: contract.ThingDownload, Name: key, Size: info.Size(), InUse: c.flights[key] != nil,
		Age: max(0, time.Since(info.ModTime())), Known: true,
	}, true
}

// discardDownload removes a download that nobody waits for. While it does, none of its source begins.
func (c *Cache) discardDownload(ctx context.Context, call *step.Call, o contract.Orphan) (string, error) {
	key := o.Thing.Name
	now, found := c.download(key)
	if !found || filepath.Base(key) != key {
		return "", nil
	}
	if why := o.Differs(now); why != "" {
		return why, nil
	}
	kept := ""
	err := call.Mutate(ctx, "image.partial.remove", func(context.Context) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.flights[key] != nil {
			kept = "it is in use"
			return nil
		}
		for _, path := range []string{c.path(partialDir, key), c.path(partialDir, key+stateSuffix)} {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return disk.Classify("remove a download", err)
			}
		}
		return nil
	})
	return kept, err
}
