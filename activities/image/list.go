package image

import (
	"os"
	"strings"

	"github.com/berth-dev/berth/activities/disk"
	v1 "github.com/berth-dev/berth/api/v1"
)

// List returns the images in the cache, by digest. Files that are no usable images are left out.
func (c *Cache) List() ([]Image, error) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, disk.Classify("list the images", err)
	}
	var images []Image
	for _, e := range entries {
		digest, format, _ := strings.Cut(e.Name(), ".")
		if e.IsDir() || !isImage(e.Name()) {
			continue
		}
		if image, ok := c.cached(digest, v1.DiskFormat(format)); ok {
			images = append(images, image)
		}
	}
	return images, nil
}
