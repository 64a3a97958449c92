package disk

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// checkPath refuses what a tool could read as an option, a protocol ("nbd:…") or a path relative to somewhere else.
func checkPath(path string) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return contract.Permanent(v1.ReasonInvalid, "use an absolute path", "%q is not a clean absolute path", path)
	}
	return nil
}

// OpenRegular opens a regular file of the host. It follows no symbolic link at the path's end and never blocks on a
// FIFO or opens a device: everything but a regular file is refused as PolicyDenied. flags are os.O_RDONLY or os.O_RDWR.
func OpenRegular(path string, flags int) (*os.File, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, Classify("open "+path, err)
	}
	if err := RequireRegular(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// RequireRegular refuses an open file that is not a regular one, as PolicyDenied.
func RequireRegular(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return Classify("inspect "+f.Name(), err)
	}
	if !info.Mode().IsRegular() {
		return contract.Permanent(v1.ReasonPolicyDenied, "name a regular file",
			"%s is not a regular file (%s)", f.Name(), info.Mode().Type())
	}
	return nil
}

func closing(f *os.File, err *error) {
	if cerr := f.Close(); cerr != nil && *err == nil {
		*err = fmt.Errorf("close: %w", cerr)
	}
}
