package disk

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// extent is a range of a file that holds data.
type extent struct{ offset, length int64 }

// dataExtents lists the ranges of a file that are not holes, in order, and the sum of their lengths. A file system that
// knows no holes reports one range.
func dataExtents(f *os.File, size int64) ([]extent, int64, error) {
	var extents []extent
	var total int64
	for at := int64(0); at < size; {
		start, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // nothing but a hole until the end
		}
		if err != nil {
			return nil, 0, fmt.Errorf("look for data: %w", err)
		}
		end, err := unix.Seek(int(f.Fd()), start, unix.SEEK_HOLE)
		if err != nil {
			return nil, 0, fmt.Errorf("look for holes: %w", err)
		}
		end = min(end, size)
		extents = append(extents, extent{start, end - start})
		total += end - start
		at = end
	}
	return extents, total, nil
}
