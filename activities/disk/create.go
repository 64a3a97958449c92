package disk

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// metadataRoom is what a new qcow2 file takes at least, with room to spare.
const metadataRoom = 1 << 20

// CreateOverlay makes a qcow2 disk at dst that shares the blocks of base. size is its virtual size in bytes; zero means
// that of base, less than that is refused as Invalid. base is inspected as baseFormat first. It never replaces dst.
func CreateOverlay(ctx context.Context, base string, baseFormat v1.DiskFormat, dst string, size int64) error {
	info, err := InspectAs(base, baseFormat)
	if err != nil {
		return err
	}
	if len(base) > maxBackingNameLen {
		return invalid("the path of %s is too long for a backing file", base)
	}
	if size == 0 {
		size = info.VirtualSize
	}
	if size < info.VirtualSize {
		return shrink(dst, info.VirtualSize, size)
	}
	if err := checkNew(dst, size, metadataRoom); err != nil {
		return err
	}
	return build(dst, func(temporary string) error {
		return qemuImg(ctx, "make the disk "+dst, "create", "-q", "-f", string(v1.FormatQCOW2),
			"-b", base, "-F", string(baseFormat), temporary, strconv.FormatInt(size, 10))
	})
}

// CreateBlank makes an empty, sparse disk of size bytes. It never replaces dst.
func CreateBlank(ctx context.Context, dst string, format v1.DiskFormat, size int64) error {
	if err := checkNew(dst, size, metadataRoom); err != nil {
		return err
	}
	return build(dst, func(temporary string) error {
		switch format {
		case v1.FormatRaw:
			return Classify("make the disk "+dst, createSparse(temporary, size))
		case v1.FormatQCOW2:
			return qemuImg(ctx, "make the disk "+dst, "create", "-q", "-f", string(format), temporary, strconv.FormatInt(size, 10))
		default:
			return unknownFormat(format)
		}
	})
}

// Grow makes a disk of a stopped machine larger: size is its new virtual size in bytes. A disk that has this size
// already is left alone; one that is larger is refused as Immutable, because disks never shrink. A qcow2 disk may have a
// backing file only if it carries a Berth mark, and the backing file has to be a standalone image.
func Grow(ctx context.Context, path string, format v1.DiskFormat, size int64) error {
	switch format {
	case v1.FormatRaw:
		return growRaw(path, size)
	case v1.FormatQCOW2:
		return growQCOW2(ctx, path, size)
	default:
		return unknownFormat(format)
	}
}

func growRaw(path string, size int64) (err error) {
	f, err := OpenRegular(path, os.O_RDWR)
	if err != nil {
		return err
	}
	defer closing(f, &err)
	info, err := f.Stat()
	if err != nil {
		return Classify("grow "+path, err)
	}
	if needed, err := growth(path, info.Size(), size); !needed {
		return err
	}
	if err := f.Truncate(size); err != nil {
		return Classify("grow "+path, err)
	}
	return Classify("grow "+path, f.Sync())
}

func growQCOW2(ctx context.Context, path string, size int64) error {
	info, err := InspectManaged(path)
	if err != nil {
		return err
	}
	if info.Format != v1.FormatQCOW2 {
		return invalid("%s is declared as qcow2, but its content is %s", path, info.Format)
	}
	if needed, err := growth(path, info.VirtualSize, size); !needed {
		return err
	}
	if info.Backing != "" {
		if _, err := ReadMarker(path); err != nil {
			return err
		}
		if _, err := InspectAs(info.Backing, info.BackingFormat); err != nil {
			return err
		}
	}
	if err := RequireFree(filepath.Dir(path), metadataRoom); err != nil {
		return err
	}
	if err := qemuImg(ctx, "grow "+path, "resize", "-q", "-f", string(v1.FormatQCOW2), path, strconv.FormatInt(size, 10)); err != nil {
		return err
	}
	return Classify("grow "+path, syncFile(path))
}

// growth reports whether a disk has to grow from its size to the wanted one.
func growth(path string, from, to int64) (bool, error) {
	switch {
	case to > MaxVirtualSize:
		return false, tooLarge(to)
	case to < from:
		return false, shrink(path, from, to)
	default:
		return to > from, nil
	}
}

func checkNew(dst string, size, room int64) error {
	if err := checkPath(dst); err != nil {
		return err
	}
	if size <= 0 {
		return contract.Permanent(v1.ReasonInvalid, "give the disk a size", "a disk of %d bytes cannot be made", size)
	}
	if size > MaxVirtualSize {
		return tooLarge(size)
	}
	return RequireFree(filepath.Dir(dst), room)
}

func createSparse(path string, size int64) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	defer closing(f, &err)
	return f.Truncate(size)
}

func tooLarge(size int64) error {
	return contract.Permanent(v1.ReasonInvalid, "choose a smaller size", "a disk of %d bytes is larger than the limit of %d", size, MaxVirtualSize)
}

func shrink(path string, from, to int64) error {
	return contract.Permanent(v1.ReasonImmutable, "ask for at least its present size, or for no size",
		"%s has %d bytes and cannot shrink to %d", path, from, to)
}

func unknownFormat(format v1.DiskFormat) error {
	return contract.Permanent(v1.ReasonInvalid, "use qcow2 or raw", "the disk format %q is unknown", format)
}
