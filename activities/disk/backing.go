package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Backing returns the name of the backing file as it stands in the header of a qcow2 disk; empty if it has none, or is no
// qcow2. It judges nothing else: a disk that would be refused needs what is below it all the same.
func Backing(path string) (name string, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", Classify("open "+path, err)
	}
	defer closing(f, &err)
	if err := RequireRegular(f); err != nil {
		return "", err
	}
	qcow, err := hasMagic(f)
	if err != nil || !qcow {
		return "", err
	}
	q, err := readHeader(f)
	if err == nil {
		err = q.readBackingName(f)
	}
	if err != nil {
		return "", invalid("%s is not a usable qcow2 image: %v", path, err)
	}
	return q.backing, nil
}

// Backings returns what all disks below a directory name as their backing files, as it stands there and with links
// resolved. It follows links, and fails if anything could not be read: from a part nothing may be concluded. What vanishes
// meanwhile is left out, and so are the temporaries of disks that are being made.
func Backings(dir string) ([]string, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, Classify("list the disks in "+dir, err)
	}
	b := backings{names: map[string]bool{}, seen: map[fileKey]bool{}}
	if err := b.add(dir); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(b.names))
	for name := range b.names {
		names = append(names, name)
	}
	return names, nil
}

type fileKey struct{ device, inode uint64 }

// backings is one walk. seen are its directories: links may lead in a circle.
type backings struct {
	names map[string]bool
	seen  map[fileKey]bool
}

func (b *backings) add(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return unlessGone(path, err)
	case info.IsDir():
		return b.addAll(path, info)
	case !info.Mode().IsRegular() || isTemporary(filepath.Base(path)):
		return nil
	}
	name, err := Backing(path)
	if err != nil {
		return unlessGone(path, err)
	}
	if name == "" {
		return nil
	}
	b.names[name] = true
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(path), name)
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		b.names[real] = true
	}
	return nil
}

func (b *backings) addAll(dir string, info fs.FileInfo) error {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		key := fileKey{s.Dev, s.Ino}
		if b.seen[key] {
			return nil
		}
		b.seen[key] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return unlessGone(dir, err)
	}
	for _, e := range entries {
		if err := b.add(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// unlessGone is a failure to read a path, unless that is because the path itself is gone by now. A link that leads nowhere is
// not gone: perhaps the file system with the disks is not mounted.
func unlessGone(path string, err error) error {
	if _, gone := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && errors.Is(gone, fs.ErrNotExist) {
		return nil
	}
	return Classify("read "+path, err)
}
