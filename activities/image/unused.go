package image

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/berth-dev/berth/activities/disk"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// unused lists the images that nothing on the host uses, and nothing has used for as long as they are kept. What is seen in use
// is noted as used now, so that an image stays for that time after its last disk.
func (c *Cache) unused() ([]contract.Thing, error) {
	if c.opts.Keep <= 0 {
		return nil, nil
	}
	images, err := c.List()
	if err != nil {
		return nil, err
	}
	bases, err := disk.Backings(c.opts.Disks)
	if err != nil {
		return nil, err
	}
	var all []contract.Thing
	for _, image := range images {
		t, err := c.unusedThing(filepath.Base(image.Path), bases)
		if err != nil {
			return nil, err
		}
		if t != nil {
			all = append(all, *t)
		}
	}
	return all, nil
}

func (c *Cache) unusedThing(name string, bases []string) (*contract.Thing, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, found, err := c.thing(name)
	if err != nil || !found {
		return nil, err
	}
	if c.needed(name, bases) != "" {
		err := touch(c.path(name))
		return nil, disk.Classify("note the use of an image", err)
	}
	if t.Age < c.opts.Keep {
		return nil, nil
	}
	return &t, nil
}

// thing looks at an image's file. Its age is the time since its last use.
func (c *Cache) thing(name string) (contract.Thing, bool, error) {
	info, err := os.Lstat(c.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return contract.Thing{}, false, nil
	}
	if err != nil {
		return contract.Thing{}, false, disk.Classify("look at an image", err)
	}
	t := contract.Thing{
		Kind: contract.ThingImage, Name: name, Size: info.Size(), Age: max(0, time.Since(info.ModTime())), Known: true,
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		t.Size = s.Blocks * 512 // what it takes
	}
	if !info.Mode().IsRegular() {
		t.Odd = "it is not a regular file"
	}
	return t, true, nil
}

// isImage reports whether a file of the cache is called as an image is. Other files there are nobody's business.
func isImage(name string) bool {
	digest, format, _ := strings.Cut(name, ".")
	return isSHA256(digest) && (format == string(v1.FormatQCOW2) || format == string(v1.FormatRaw))
}

// isBase reports whether a disk names an image as its backing file. The digest alone tells, also if the data directory was
// moved, or is reached by another path.
func isBase(name string, bases []string) bool {
	digest, _, _ := strings.Cut(name, ".")
	for _, base := range bases {
		if strings.Contains(base, digest) {
			return true
		}
	}
	return false
}
