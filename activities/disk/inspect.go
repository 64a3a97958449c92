package disk

import (
	"os"
	"path/filepath"

	v1 "github.com/berth-dev/berth/api/v1"
)

// Info is what an inspection found.
type Info struct {
	// Format is what the content is: qcow2 if it has such a header, else raw.
	Format v1.DiskFormat
	// VirtualSize is the size in bytes that a guest sees.
	VirtualSize int64
	// Size is the length of the file, Allocated what it takes on the host's disk, both in bytes.
	Size, Allocated int64
	// Backing is the absolute path of the backing file, and BackingFormat its format. Only InspectManaged returns them.
	Backing       string
	BackingFormat v1.DiskFormat
}

// Inspect reads an image's header without any tool. It refuses, as permanent ImageInvalid, whatever would make QEMU open
// other files (a backing file, an external data file), encryption, unknown features, a damaged header and absurd sizes.
func Inspect(path string) (Info, error) { return inspectPath(path, false) }

// InspectAs is Inspect for a declared format. Content that is not qcow2 does not pass as qcow2. Content with a qcow2
// header does not pass as raw either: QEMU would be safe, because it is always told the format, but the guest would find
// a disk that does not boot, and the declaration is the likely mistake.
func InspectAs(path string, format v1.DiskFormat) (Info, error) {
	info, err := Inspect(path)
	if err != nil {
		return Info{}, err
	}
	if info.Format != format {
		return Info{}, invalid("%s is declared as %s, but its content is %s", path, format, info.Format)
	}
	return info, nil
}

// InspectManaged is Inspect for a disk that Berth made: it may have a backing file, with an absolute path and a recorded
// format. A guest cannot change these: they stand in the header, which is not part of the disk that it sees.
func InspectManaged(path string) (Info, error) { return inspectPath(path, true) }

func inspectPath(path string, backingAllowed bool) (info Info, err error) {
	f, err := OpenRegular(path, os.O_RDONLY)
	if err != nil {
		return Info{}, err
	}
	defer closing(f, &err)
	return inspect(f, backingAllowed)
}

func inspect(f *os.File, backingAllowed bool) (Info, error) {
	info, qcow, err := sizes(f)
	if err != nil || !qcow {
		return info, err
	}
	q, err := parseQCOW2(f, info.Size)
	if err != nil {
		return Info{}, invalid("%s is not a usable qcow2 image: %v", f.Name(), err)
	}
	if why := q.refusal(backingAllowed); why != "" {
		return Info{}, invalid("%s is refused: %s", f.Name(), why)
	}
	info.VirtualSize, info.Backing, info.BackingFormat = int64(q.Size), q.backing, v1.DiskFormat(q.backingFormat)
	return info, nil
}

// sizes returns what the file system knows, and whether a qcow2 header follows.
func sizes(f *os.File) (Info, bool, error) {
	stat, err := f.Stat()
	if err != nil {
		return Info{}, false, Classify("inspect "+f.Name(), err)
	}
	qcow, err := hasMagic(f)
	if err != nil {
		return Info{}, false, Classify("read "+f.Name(), err)
	}
	info := Info{Format: v1.FormatRaw, VirtualSize: stat.Size(), Size: stat.Size(), Allocated: allocated(stat)}
	if qcow {
		info.Format = v1.FormatQCOW2
		return info, true, nil
	}
	if stat.Size() == 0 {
		return Info{}, false, invalid("%s is empty", f.Name())
	}
	if stat.Size() > MaxVirtualSize {
		return Info{}, false, invalid("%s has an absurd size of %d bytes", f.Name(), stat.Size())
	}
	return info, false, nil
}

// refusal says why an image with a well-formed header is refused, or nothing.
func (q *qcow2) refusal(backingAllowed bool) string {
	switch {
	case q.dataFile || q.Incompatible&incompatDataFile != 0:
		return "it keeps its data in an external file"
	case q.BackingOffset != 0 && !backingAllowed:
		return "it has a backing file"
	case q.BackingOffset != 0 && (!filepath.IsAbs(q.backing) || !knownFormat(q.backingFormat)):
		return "its backing file is not named by an absolute path with a format"
	case q.CryptMethod != 0 || q.encrypted:
		return "it is encrypted"
	case q.Incompatible&^uint64(incompatKnown) != 0:
		return "it uses features that are not known here"
	case q.Incompatible&incompatCorrupt != 0:
		return "it is marked as corrupt"
	case q.Size == 0:
		return "its virtual size is zero"
	default:
		return ""
	}
}

func knownFormat(s string) bool { return s == string(v1.FormatQCOW2) || s == string(v1.FormatRaw) }
