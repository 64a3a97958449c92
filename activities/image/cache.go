package image

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/berth-dev/berth/activities/disk"
	v1 "github.com/berth-dev/berth/api/v1"
)

// Options of a cache. Zero values mean the defaults.
type Options struct {
	// MaxConcurrent bounds the fetches at a time. Default 4.
	MaxConcurrent int
	// StallTimeout is how long a server may send nothing. Default 1m.
	StallTimeout time.Duration
	// MaxSize is the largest image that is fetched, in bytes. Zero means that only the free space bounds it.
	MaxSize int64
	// AllowedPathPrefixes are the directories of the host from which images may come. None means no path is allowed.
	AllowedPathPrefixes []string
	// Keep is how long an image stays that nothing uses. Zero means for ever.
	Keep time.Duration
	// Disks is the directory below which all disks are that may be based on images of the cache.
	Disks string
	// HTTPClient is used with its transport; it needs no timeout of its own. Its transport must not decompress.
	// Default: a client with the environment's proxies.
	HTTPClient *http.Client
}

// Image is an image in the cache.
type Image struct {
	// Path of the file, readable for everybody and written by nobody. It stays while something uses it, and for Options.Keep
	// after.
	Path string
	// Digest of the file, "sha256:" and 64 hex digits.
	Digest string
	Format v1.DiskFormat
	// Size of the file and VirtualSize of the disk in it, in bytes.
	Size, VirtualSize int64
}

// Cache is a directory of images. One process at a time may have it open.
type Cache struct {
	dir    string
	opts   Options
	client *http.Client
	slots  *semaphore.Weighted
	bootID string

	mu      sync.Mutex
	flights map[string]*flight
	uses    map[string]int // by path: how many disks are being made of an image
	running sync.WaitGroup

	indexMu sync.Mutex // fetches from two places may find the same image
}

const (
	partialDir = "partial"
	indexDir   = "index"
	// partialMaxAge is when a partial file that nobody asked for again is given up.
	partialMaxAge = 7 * 24 * time.Hour
)

// Open opens the cache in a directory, made if it is missing. What interrupted operations left is removed, except
// partial files that a later fetch can go on with.
func Open(dir string, opts Options) (*Cache, error) {
	if opts.MaxConcurrent <= 0 {
		opts.MaxConcurrent = 4
	}
	if opts.StallTimeout <= 0 {
		opts.StallTimeout = time.Minute
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, disk.Classify("open the image cache", err)
	}
	c := &Cache{
		dir: dir, opts: opts, client: newClient(opts.HTTPClient), bootID: bootID(),
		slots: semaphore.NewWeighted(int64(opts.MaxConcurrent)), flights: map[string]*flight{}, uses: map[string]int{},
	}
	// QEMU runs as another user and reaches images by name through a directory that it cannot list.
	for path, mode := range map[string]os.FileMode{dir: 0o711, c.path(partialDir): 0o700, c.path(indexDir): 0o700} {
		if err := os.MkdirAll(path, mode); err != nil {
			return nil, disk.Classify("make "+path, err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask is
			return nil, disk.Classify("make "+path, err)
		}
		if err := disk.CleanTemporaries(path); err != nil {
			return nil, err
		}
	}
	return c, cleanPartials(c.path(partialDir), time.Now().Add(-partialMaxAge))
}

// Ensure returns an image from the cache, fetching it first if needed. It joins a fetch of the same image that runs
// already. progress, if not nil, is called from the caller's goroutine now and then.
//
// Errors: ImageNotFound, ImageInvalid, DigestMismatch and PolicyDenied are permanent; FetchFailed (it may say when to
// try again), FetchStalled and DiskFull are retryable, and a retry goes on where this one stopped. When ctx ends, its
// error is returned at once. No error holds the query or the credentials of a URL.
func (c *Cache) Ensure(ctx context.Context, src v1.DiskImage, progress func(v1.Progress)) (Image, error) {
	s, err := parseSource(src)
	if err != nil {
		return Image{}, err
	}
	if progress == nil {
		progress = func(v1.Progress) {}
	}
	for {
		if err := ctx.Err(); err != nil {
			return Image{}, err
		}
		f, ending := c.join(ctx, s)
		if ending != nil {
			select { // its files are not free yet
			case <-ending:
				continue
			case <-ctx.Done():
				return Image{}, ctx.Err()
			}
		}
		return c.wait(ctx, f, progress)
	}
}

// Close ends all fetches and waits until they have let go of their files.
func (c *Cache) Close() {
	c.mu.Lock()
	for _, f := range c.flights {
		f.abandoned = true
		f.cancel()
	}
	c.mu.Unlock()
	c.running.Wait()
}

func (c *Cache) path(elements ...string) string {
	return filepath.Join(append([]string{c.dir}, elements...)...)
}

func (c *Cache) imagePath(sha256 string, format v1.DiskFormat) string {
	return c.path(sha256 + "." + string(format))
}
