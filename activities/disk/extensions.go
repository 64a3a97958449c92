package disk

import (
	"encoding/binary"
	"fmt"
	"io"
)

// readBackingName reads the name of the backing file, which has to lie in the first cluster.
func (q *qcow2) readBackingName(r io.ReaderAt) error {
	if q.BackingOffset == 0 {
		return nil
	}
	length := int64(q.BackingLength)
	if length > maxBackingNameLen || q.BackingOffset < uint64(q.HeaderLength) ||
		q.BackingOffset > uint64(q.clusterSize()-length) {
		return fmt.Errorf("the name of the backing file lies outside of the header")
	}
	name := make([]byte, length)
	if err := readZeroPadded(r, name, int64(q.BackingOffset)); err != nil {
		return err
	}
	q.backing = string(name)
	return nil
}

// readExtensions walks the header's extensions over just the range that QEMU walks: none may hide behind a bound of
// our own.
func (q *qcow2) readExtensions(r io.ReaderAt) error {
	end := q.clusterSize()
	if q.BackingOffset != 0 {
		end = int64(q.BackingOffset)
	}
	area := make([]byte, end-int64(q.HeaderLength))
	if err := readZeroPadded(r, area, int64(q.HeaderLength)); err != nil {
		return err
	}
	for len(area) >= 8 {
		kind, length := binary.BigEndian.Uint32(area), int64(binary.BigEndian.Uint32(area[4:]))
		area = area[8:]
		if kind == extensionEnd {
			return nil
		}
		if length > int64(len(area)) {
			return fmt.Errorf("header extension %#x is longer than the header", kind)
		}
		switch kind {
		case extensionBackingFormat:
			q.backingFormat = string(area[:length])
		case extensionDataFile:
			q.dataFile = true
		case extensionEncryption:
			q.encrypted = true
		}
		area = area[min(int64(len(area)), (length+7)&^7):]
	}
	return nil
}
