package disk

import (
	"io/fs"
	"math"
	"syscall"

	"golang.org/x/sys/unix"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Free returns the bytes that may still be written to the file system of a directory.
func Free(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, Classify("ask for the free space of "+dir, err)
	}
	if s.Bavail > math.MaxInt64/uint64(s.Bsize) {
		return math.MaxInt64, nil
	}
	return int64(s.Bavail) * s.Bsize, nil
}

// RequireFree refuses with a retryable DiskFull if the file system of a directory has less than need bytes free.
func RequireFree(dir string, need int64) error {
	free, err := Free(dir)
	if err != nil {
		return err
	}
	if free < need {
		return contract.Retryable(v1.ReasonDiskFull, adviceDiskFull,
			"%d MiB are needed in %s, but only %d MiB are free", (need+1<<20-1)>>20, dir, free>>20)
	}
	return nil
}

func allocated(info fs.FileInfo) int64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Blocks * 512
	}
	return info.Size()
}
