package image

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/berth-dev/berth/activities/disk"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// fetchLocal copies a file of the host into the cache. What the file may be is checked each time, also if its content is
// in the cache already.
func (c *Cache) fetchLocal(ctx context.Context, s source, report func(v1.Progress)) (image Image, err error) {
	in, err := c.openLocal(s.path)
	if err != nil {
		return Image{}, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return Image{}, disk.Classify("read "+s.path, err)
	}
	id := idOf(info)
	if image, e, ok := c.lookup(s); ok && (s.alg != "" || (e.File != nil && *e.File == id)) {
		return image, nil
	}
	if limit := c.opts.MaxSize; limit > 0 && info.Size() > limit {
		return Image{}, tooLarge(s, limit)
	}
	if err := c.acquire(ctx, s, report); err != nil {
		return Image{}, err
	}
	defer c.slots.Release(1)

	p, err := c.openPartial(s)
	if err != nil {
		return Image{}, err
	}
	defer func() {
		if err != nil {
			p.discard()
		}
	}()
	if err := c.copyLocal(ctx, s, in, id, p, report); err != nil {
		return Image{}, err
	}
	if err := verify(s, p); err != nil {
		return Image{}, err
	}
	return c.publish(s, p, entry{File: &id})
}

func (c *Cache) copyLocal(ctx context.Context, s source, in *os.File, id fileID, p *partial, report func(v1.Progress)) error {
	if err := p.reset(); err != nil {
		return disk.Classify("copy "+s.path, err)
	}
	buffer := make([]byte, bufferSize)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := in.Read(buffer)
		if err := p.write(buffer[:n]); err != nil {
			return disk.Classify("copy "+s.path, err)
		}
		report(v1.Progress{Detail: "copying " + s.name, Done: p.size, Total: id.Size})
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return disk.Classify("read "+s.path, err)
		}
	}
	info, err := in.Stat()
	if err != nil {
		return disk.Classify("read "+s.path, err)
	}
	if idOf(info) != id || p.size != id.Size {
		return contract.Retryable(v1.ReasonFetchFailed, "leave the file alone until it is copied", "%s changed while it was copied", s.path)
	}
	return nil
}

// openLocal opens a regular file below one of the allowed directories. Links in the path's directories are resolved
// first and then no longer followed, so that nobody can swap one in between; a link at the path's end is refused.
func (c *Cache) openLocal(path string) (*os.File, error) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		if !c.allowed(path) {
			return nil, denied(path)
		}
		return nil, notFound(path, err)
	}
	resolved := filepath.Join(dir, filepath.Base(path))
	if !c.allowed(resolved) {
		return nil, denied(path)
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, resolved, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return nil, notFound(path, err)
	case err != nil:
		return nil, disk.Classify("open "+path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	if err := disk.RequireRegular(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// allowed reports whether a path without links lies below one of the allowed directories.
func (c *Cache) allowed(path string) bool {
	for _, prefix := range c.opts.AllowedPathPrefixes {
		if real, err := filepath.EvalSymlinks(prefix); err == nil {
			prefix = real
		}
		prefix = strings.TrimSuffix(filepath.Clean(prefix), "/") + "/"
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

func denied(path string) error {
	return contract.Permanent(v1.ReasonPolicyDenied, "put the image below a directory that the host allows, or allow it there",
		"%s is not below a directory from which this host takes images", path)
}

func notFound(path string, err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return contract.Permanent(v1.ReasonImageNotFound, "check the path, and that the file is on this host", "%s cannot be opened", path).WithCause(err)
}
