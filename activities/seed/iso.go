package seed

import (
	"bytes"
	"fmt"

	"github.com/kdomanski/iso9660"
)

const (
	sector      = 2048
	volumeLabel = "cidata"

	// Where things stand, in sectors: 16 reserved ones, two volume descriptors, the root directory, the files.
	descriptorAt = 16
	rootAt       = 18
	filesAt      = 19

	typePrimary    = 1
	typeTerminator = 255
	flagDirectory  = 2
)

type file struct {
	name    string
	content []byte
}

// compose lays out an ISO 9660 image of a few files in its root directory. The library's own writer stages its input in
// a shared temporary directory; its descriptors are used here without it. Names keep their lower case and hyphens, which
// the standard leaves to agreement and every guest accepts. There are no times, so that equal files make equal images.
func compose(files []file) ([]byte, error) {
	root := entry("\x00", rootAt, sector, flagDirectory)
	parent := entry("\x01", rootAt, sector, flagDirectory)
	directory, err := marshal(root, parent)
	if err != nil {
		return nil, err
	}
	var data bytes.Buffer
	for _, f := range files {
		record, err := marshal(entry(f.name+";1", filesAt+data.Len()/sector, len(f.content), 0))
		if err != nil {
			return nil, err
		}
		directory = append(directory, record...)
		data.Write(f.content)
		data.Write(make([]byte, padding(len(f.content))))
	}
	if len(directory) > sector {
		return nil, fmt.Errorf("%d files do not fit the root directory", len(files))
	}
	body, err := volume(root, filesAt+data.Len()/sector).MarshalBinary()
	if err != nil {
		return nil, err
	}
	image := make([]byte, filesAt*sector, filesAt*sector+data.Len())
	copy(image[descriptorAt*sector:], body)
	copy(image[descriptorAt*sector:], header(typePrimary))
	copy(image[(descriptorAt+1)*sector:], header(typeTerminator))
	copy(image[rootAt*sector:], directory)
	return append(image, data.Bytes()...), nil
}

func volume(root *iso9660.DirectoryEntry, sectors int) iso9660.PrimaryVolumeDescriptorBody {
	return iso9660.PrimaryVolumeDescriptorBody{
		VolumeIdentifier:     volumeLabel,
		VolumeSpaceSize:      int32(sectors),
		VolumeSetSize:        1,
		VolumeSequenceNumber: 1,
		LogicalBlockSize:     sector,
		RootDirectoryEntry:   root,
		FileStructureVersion: 1,
	}
}

// header is the start of a volume descriptor: its type, the standard's name, its version.
func header(kind byte) []byte { return append([]byte{kind}, "CD001\x01"...) }

func entry(name string, at, length int, flags byte) *iso9660.DirectoryEntry {
	return &iso9660.DirectoryEntry{
		Identifier: name, ExtentLocation: int32(at), ExtentLength: uint32(length), FileFlags: flags, VolumeSequenceNumber: 1,
	}
}

func marshal(entries ...*iso9660.DirectoryEntry) ([]byte, error) {
	var out []byte
	for _, e := range entries {
		record, err := e.MarshalBinary()
		if err != nil {
			return nil, err
		}
		out = append(out, record...)
	}
	return out, nil
}

// padding is what is missing to a whole number of sectors.
func padding(length int) int { return (sector - length%sector) % sector }
