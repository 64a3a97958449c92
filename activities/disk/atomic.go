package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const temporarySuffix = ".berth-tmp"

// temporaryFor is the one temporary name of a file. Whoever makes the file again removes what an earlier try left.
func temporaryFor(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+temporarySuffix)
}

func isTemporary(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, temporarySuffix)
}

// CleanTemporaries removes what interrupted operations left in a directory. Nothing may be at work in it. A directory
// that does not exist is clean.
func CleanTemporaries(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return Classify("list "+dir, err)
	}
	for _, e := range entries {
		if isTemporary(e.Name()) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return Classify("remove a temporary file", err)
			}
		}
	}
	return nil
}

// build makes a new file: create writes a temporary, which is then synced and renamed. It never replaces: a path that
// exists is refused as Immutable, because it may hold a guest's data. Nothing is left behind on failure.
func build(path string, create func(temporary string) error) (err error) {
	if err := checkPath(path); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return exists(path)
	}
	temporary := temporaryFor(path)
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Classify("remove an abandoned temporary file", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temporary)
		}
	}()
	if err := create(temporary); err != nil {
		return err
	}
	if err := os.Chmod(temporary, 0o600); err != nil { // qemu-img makes it readable for all
		return Classify("write "+path, err)
	}
	if err := syncFile(temporary); err != nil {
		return Classify("write "+path, err)
	}
	if err := renameNew(temporary, path); errors.Is(err, fs.ErrExist) {
		return exists(path)
	} else if err != nil {
		return Classify("write "+path, err)
	}
	return Classify("write "+path, SyncDir(filepath.Dir(path)))
}

func exists(path string) error {
	return contract.Permanent(v1.ReasonImmutable, "remove it first if it is not needed", "%s exists already", path)
}

// renameNew renames without replacing. File systems that cannot do so in one step get a hard link and an unlink.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	if err := os.Link(from, to); err != nil {
		return err
	}
	return os.Remove(from)
}

// WriteFile replaces a small file in one step that survives a crash: temporary, sync, rename, sync of the directory.
func WriteFile(path string, data []byte, mode fs.FileMode) (err error) {
	temporary := temporaryFor(path)
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temporary)
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode) // whatever the umask is
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes renames in a directory durable.
func SyncDir(dir string) error {
	if err := syncFile(dir); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}

func syncFile(path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer closing(f, &err)
	return f.Sync()
}
