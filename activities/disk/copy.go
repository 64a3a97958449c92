package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	v1 "github.com/berth-dev/berth/api/v1"
)

const (
	copyStep = 8 << 20 // bytes between two looks at the context
	// writebackLag bounds the dirty bytes behind a copy, so that the sync at its end is short and cancelling stays quick.
	writebackLag = 64 << 20
)

// Copy makes dst an independent copy of src: a clone where the file system can, else range by range, keeping holes.
// progress, if not nil, is called from the caller's goroutine with the bytes of data copied so far. It never replaces
// dst, and leaves nothing behind when it fails or ctx ends. What src holds is not judged: inspect it before.
func Copy(ctx context.Context, src, dst string, progress func(v1.Progress)) (err error) {
	in, err := OpenRegular(src, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer closing(in, &err)
	return build(dst, func(temporary string) error {
		out, err := os.OpenFile(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return Classify("write "+dst, err)
		}
		c := copier{in: in, out: out, dst: dst, progress: progress}
		err = c.run(ctx)
		if cerr := out.Close(); err == nil {
			err = cerr
		}
		return Classify("copy "+src+" to "+dst, err)
	})
}

type copier struct {
	in, out  *os.File
	dst      string
	progress func(v1.Progress)

	done, total int64
	plain       bool // copy_file_range does not work here
	buffer      []byte
}

func (c *copier) run(ctx context.Context) error {
	info, err := c.in.Stat()
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if unix.IoctlFileClone(int(c.out.Fd()), int(c.in.Fd())) == nil {
		c.total, c.done = info.Size(), info.Size()
		c.report()
		return nil
	}
	extents, total, err := dataExtents(c.in, info.Size())
	if err != nil {
		return err
	}
	if err := RequireFree(filepath.Dir(c.dst), total); err != nil {
		return err
	}
	if err := c.out.Truncate(info.Size()); err != nil {
		return err
	}
	c.total = total
	for _, e := range extents {
		if err := c.extent(ctx, e); err != nil {
			return err
		}
	}
	c.report()
	return nil
}

func (c *copier) extent(ctx context.Context, e extent) error {
	for at, end := e.offset, e.offset+e.length; at < end; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := c.step(at, min(copyStep, end-at))
		if err != nil {
			return fmt.Errorf("at byte %d: %w", at, err)
		}
		if n == 0 {
			return fmt.Errorf("at byte %d: %w", at, io.ErrUnexpectedEOF)
		}
		c.writeback(at, n)
		at += n
		c.done += n
		c.report()
	}
	return nil
}

// step copies up to length bytes at an offset, in the kernel if it can.
func (c *copier) step(at, length int64) (int64, error) {
	if !c.plain {
		from, to := at, at
		n, err := unix.CopyFileRange(int(c.in.Fd()), &from, int(c.out.Fd()), &to, int(length), 0)
		if err == nil {
			return int64(n), nil
		}
		if errors.Is(err, unix.EINTR) {
			return c.step(at, length)
		}
		if !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EINVAL) {
			return 0, err
		}
		c.plain, c.buffer = true, make([]byte, 1<<20)
	}
	n, err := c.in.ReadAt(c.buffer[:min(length, int64(len(c.buffer)))], at)
	if n == 0 {
		return 0, err
	}
	written, err := c.out.WriteAt(c.buffer[:n], at)
	return int64(written), err
}

// writeback starts writing what was just copied, and waits for what lies writebackLag behind. It is only a hint: the
// sync at the end is what counts, so failures are left to it.
func (c *copier) writeback(at, n int64) {
	_ = unix.SyncFileRange(int(c.out.Fd()), at, n, unix.SYNC_FILE_RANGE_WRITE)
	if behind := at - writebackLag; behind >= 0 {
		_ = unix.SyncFileRange(int(c.out.Fd()), behind, copyStep,
			unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
	}
}

func (c *copier) report() {
	if c.progress != nil {
		c.progress(v1.Progress{Detail: "copying " + filepath.Base(c.dst), Done: c.done, Total: c.total})
	}
}
