package disk

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const adviceDiskFull = "free space on the host, or choose another host; Berth tries again by itself"

// Classify turns a failure of a file operation into a *contract.Error, in one place for all who write to a host's disks.
// doing completes "cannot …". A *contract.Error and a cancelled context pass through.
func Classify(doing string, err error) error {
	var own *contract.Error
	switch {
	case err == nil, errors.As(err, &own), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case IsFull(err):
		return contract.Retryable(v1.ReasonDiskFull, adviceDiskFull, "cannot %s: the disk is full", doing).WithCause(err)
	case errors.Is(err, fs.ErrNotExist):
		return contract.Permanent(v1.ReasonNotFound, "check the path", "cannot %s", doing).WithCause(err)
	case errors.Is(err, syscall.ELOOP):
		return contract.Permanent(v1.ReasonPolicyDenied, "name the file itself, not a symbolic link to it",
			"cannot %s: symbolic links are not followed", doing).WithCause(err)
	default:
		return contract.Retryable(v1.ReasonRuntimeError, "look at the host's disks and the agent's log",
			"cannot %s", doing).WithCause(err)
	}
}

// IsFull reports whether an error says that there is no room: no free blocks, or a quota used up.
func IsFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

func invalid(format string, args ...any) *contract.Error {
	return contract.Permanent(v1.ReasonImageInvalid, "use a standalone raw or qcow2 image, and declare its format", format, args...)
}
