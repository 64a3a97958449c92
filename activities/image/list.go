package image

import (
	"os"
	"strings"

	"github.com/berth-dev/berth/activities/disk"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
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
		if e.IsDir() || !isSHA256(digest) {
			continue
		}
		if image, ok := c.cached(digest, v1.DiskFormat(format)); ok {
			images = append(images, image)
		}
	}
	return images, nil
}

// Remove removes an image by its digest. inUse says whether a path is still the base of a disk: then it is refused as
// PolicyDenied. An image that is not there is fine. The caller keeps others from making disks of it meanwhile.
func (c *Cache) Remove(digest string, inUse func(path string) (bool, error)) error {
	images, err := c.List()
	if err != nil {
		return err
	}
	for _, image := range images {
		if image.Digest != digest {
			continue
		}
		used, err := inUse(image.Path)
		if err != nil {
			return err
		}
		if used {
			return contract.Permanent(v1.ReasonPolicyDenied, "remove the disks that are based on it first", "the image %s is in use", digest)
		}
		if err := os.Remove(image.Path); err != nil {
			return disk.Classify("remove the image "+digest, err)
		}
	}
	return disk.Classify("remove the image "+digest, disk.SyncDir(c.dir))
}
