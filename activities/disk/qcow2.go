package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits of what is accepted. QEMU has the same for its tables; they bound what it would allocate for a hostile header.
const (
	// MaxVirtualSize is the largest virtual size in bytes (64 TiB).
	MaxVirtualSize = int64(1) << 46

	maxL1Bytes        = 32 << 20
	maxRefTableBytes  = 8 << 20
	maxBackingNameLen = 1023
	maxSnapshots      = 65536
)

const (
	incompatDirty       = 1 << 0
	incompatCorrupt     = 1 << 1
	incompatDataFile    = 1 << 2
	incompatCompression = 1 << 3
	incompatExtendedL2  = 1 << 4
	incompatKnown       = incompatDirty | incompatCorrupt | incompatDataFile | incompatCompression | incompatExtendedL2

	extensionEnd           = 0
	extensionBackingFormat = 0xE2792ACA
	extensionDataFile      = 0x44415441
	extensionEncryption    = 0x0537BE77
)

const (
	headerV2Length = 72
	headerV3Length = 104
)

var qcow2Magic = []byte("QFI\xfb")

// rawHeader is the start of a qcow2 file as it stands on disk, all big-endian. From Incompatible on it is
// there from version 3, CompressionType only if HeaderLength says so.
type rawHeader struct {
	Magic            [4]byte
	Version          uint32
	BackingOffset    uint64
	BackingLength    uint32
	ClusterBits      uint32
	Size             uint64
	CryptMethod      uint32
	L1Size           uint32
	L1Offset         uint64
	RefTableOffset   uint64
	RefTableClusters uint32
	Snapshots        uint32
	SnapshotsOffset  uint64
	Incompatible     uint64
	Compatible       uint64
	Autoclear        uint64
	RefcountOrder    uint32
	HeaderLength     uint32
	CompressionType  uint8
}

// qcow2 is what a header says, after all of its sizes were checked.
type qcow2 struct {
	rawHeader
	backing       string
	backingFormat string
	dataFile      bool
	encrypted     bool
}

// parseQCOW2 reads a header of a file with this many bytes. It refuses what QEMU would refuse, and sizes that make no
// sense; what the header refers to is for the caller to judge. Errors are for users, without the file's name.
func parseQCOW2(r io.ReaderAt, fileSize int64) (*qcow2, error) {
	q, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	if err := q.checkSizes(fileSize); err != nil {
		return nil, err
	}
	if err := q.readBackingName(r); err != nil {
		return nil, err
	}
	return q, q.readExtensions(r)
}

// readHeader reads the fixed part of a header, of either version.
func readHeader(r io.ReaderAt) (*qcow2, error) {
	head := make([]byte, headerV3Length+1)
	if err := readZeroPadded(r, head, 0); err != nil {
		return nil, err
	}
	q := &qcow2{}
	if _, err := binary.Decode(head, binary.BigEndian, &q.rawHeader); err != nil {
		return nil, fmt.Errorf("the header cannot be read: %w", err)
	}
	if !bytes.Equal(q.Magic[:], qcow2Magic) {
		return nil, fmt.Errorf("the file has no qcow2 header")
	}
	return q, q.normalize()
}

// hasMagic reports whether what looks like a qcow2 header follows.
func hasMagic(r io.ReaderAt) (bool, error) {
	magic := make([]byte, len(qcow2Magic))
	err := readZeroPadded(r, magic, 0)
	return bytes.Equal(magic, qcow2Magic), err
}

// normalize brings both versions to one shape.
func (q *qcow2) normalize() error {
	switch q.Version {
	case 2:
		q.Incompatible, q.RefcountOrder, q.HeaderLength, q.CompressionType = 0, 4, headerV2Length, 0
	case 3:
		if q.HeaderLength < headerV3Length {
			return fmt.Errorf("the header is too short (%d bytes)", q.HeaderLength)
		}
		if q.HeaderLength == headerV3Length {
			q.CompressionType = 0
		}
	default:
		return fmt.Errorf("version %d of qcow2 is unknown", q.Version)
	}
	if q.ClusterBits < 9 || q.ClusterBits > 21 {
		return fmt.Errorf("a cluster size of 2^%d bytes is not allowed", q.ClusterBits)
	}
	if int64(q.HeaderLength) > q.clusterSize() {
		return fmt.Errorf("the header is longer than a cluster")
	}
	return nil
}

func (q *qcow2) clusterSize() int64 { return 1 << q.ClusterBits }

func (q *qcow2) checkSizes(fileSize int64) error {
	if q.Size > uint64(MaxVirtualSize) {
		return fmt.Errorf("a virtual size of %d bytes is absurd", q.Size)
	}
	if q.RefcountOrder > 6 {
		return fmt.Errorf("refcounts of 2^%d bits are not allowed", q.RefcountOrder)
	}
	if q.CompressionType > 1 {
		return fmt.Errorf("compression type %d is unknown", q.CompressionType)
	}
	if q.Snapshots > maxSnapshots {
		return fmt.Errorf("%d snapshots are too many", q.Snapshots)
	}
	entry := int64(8)
	if q.Incompatible&incompatExtendedL2 != 0 {
		entry = 16
	}
	covered := q.clusterSize() * (q.clusterSize() / entry) // bytes of the disk that one entry of the L1 table maps
	needed := (int64(q.Size) + covered - 1) / covered
	if int64(q.L1Size) < needed || int64(q.L1Size)*8 > maxL1Bytes {
		return fmt.Errorf("an L1 table of %d entries does not fit a disk of %d bytes", q.L1Size, q.Size)
	}
	refTable := int64(q.RefTableClusters) * q.clusterSize()
	if refTable == 0 || refTable > maxRefTableBytes {
		return fmt.Errorf("a refcount table of %d bytes is not allowed", refTable)
	}
	if err := q.checkTable("L1", q.L1Offset, int64(q.L1Size)*8, fileSize); err != nil {
		return err
	}
	return q.checkTable("refcount", q.RefTableOffset, refTable, fileSize)
}

// checkTable requires a table to be aligned and to start inside of the file; a truncated file fails here. An empty
// table may be anywhere.
func (q *qcow2) checkTable(name string, offset uint64, length, fileSize int64) error {
	if length == 0 {
		return nil
	}
	if offset == 0 || offset%uint64(q.clusterSize()) != 0 || offset > uint64(fileSize) || int64(offset)+length > fileSize {
		return fmt.Errorf("the %s table lies outside of the file (%d bytes): the file is damaged or was cut off", name, fileSize)
	}
	return nil
}

// readZeroPadded fills buf and takes what lies beyond the end of the file as zeros, as QEMU does.
func readZeroPadded(r io.ReaderAt, buf []byte, offset int64) error {
	if n, err := r.ReadAt(buf, offset); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("the header cannot be read after %d bytes: %w", n, err)
	}
	return nil
}
