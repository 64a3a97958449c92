package image

import (
	"encoding/json"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/berth-dev/berth/activities/disk"
	v1 "github.com/berth-dev/berth/api/v1"
)

// entry says which image a source led to, so that asking again costs little.
type entry struct {
	// Source is for people: without credentials.
	Source string        `json:"source"`
	SHA256 string        `json:"sha256"`
	Format v1.DiskFormat `json:"format"`
	// ETag and LastModified are for asking a server whether it still has the same.
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"lastModified,omitempty"`
	// File is how a file of the host looked.
	File *fileID `json:"file,omitempty"`
}

// fileID changes when somebody writes to a file or puts another in its place.
type fileID struct {
	Size   int64  `json:"size"`
	MTime  int64  `json:"mtimeNs"`
	CTime  int64  `json:"ctimeNs"`
	Inode  uint64 `json:"inode"`
	Device uint64 `json:"device"`
}

func idOf(info fs.FileInfo) fileID {
	id := fileID{Size: info.Size(), MTime: info.ModTime().UnixNano()}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		id.CTime, id.Inode, id.Device = s.Ctim.Nano(), s.Ino, s.Dev
	}
	return id
}

// entryPath is where the entry of a source stands: what has a SHA-512 is found by that, wherever it comes from.
func (c *Cache) entryPath(s source) string {
	name := s.key
	if s.alg == algSHA512 {
		name = s.alg + "-" + s.sum + "." + string(s.format)
	}
	return c.path(indexDir, name+".json")
}

// lookup finds the image that a source led to before. A record that cannot be read, or whose image is gone or damaged,
// is as good as none: the image is fetched again.
func (c *Cache) lookup(s source) (Image, entry, bool) {
	if s.alg == algSHA256 {
		image, ok := c.cached(s.sum, s.format)
		return image, entry{}, ok
	}
	var e entry
	data, err := os.ReadFile(c.entryPath(s))
	if err != nil || json.Unmarshal(data, &e) != nil || e.Format != s.format || !isSHA256(e.SHA256) {
		return Image{}, entry{}, false
	}
	image, ok := c.cached(e.SHA256, e.Format)
	return image, e, ok
}

// cached returns an image by its digest. Files have this name only after they were verified.
func (c *Cache) cached(sha256 string, format v1.DiskFormat) (Image, bool) {
	path := c.imagePath(sha256, format)
	info, err := disk.InspectAs(path, format)
	if err != nil {
		return Image{}, false
	}
	return Image{
		Path: path, Digest: algSHA256 + ":" + sha256, Format: format, Size: info.Size, VirtualSize: info.VirtualSize,
	}, true
}

// remember records which image a source led to. By SHA-256 an image is found without.
func (c *Cache) remember(s source, e entry) error {
	if s.alg == algSHA256 {
		return nil
	}
	e.Source, e.Format = s.where, s.format
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	c.indexMu.Lock()
	defer c.indexMu.Unlock()
	return disk.Classify("record an image", disk.WriteFile(c.entryPath(s), data, 0o600))
}

func isSHA256(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }
