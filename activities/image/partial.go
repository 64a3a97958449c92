package image

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/berth-dev/berth/activities/disk"
)

const (
	// syncStep is after how many bytes a partial file is made durable and its length recorded.
	syncStep    = 32 << 20
	bufferSize  = 256 << 10
	stateSuffix = ".json"
)

// partialState stands beside a partial file and says how it can be gone on with.
type partialState struct {
	// Source is for people: without credentials.
	Source       string `json:"source"`
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"lastModified,omitempty"`
	// Total is the length of the whole, or zero if the server did not say.
	Total int64 `json:"total,omitempty"`
	// Synced bytes survive everything. Within the same boot all of the file does: a killed process leaves its writes
	// in the page cache.
	Synced int64  `json:"synced"`
	BootID string `json:"bootId"`
}

// partial is a file that is being fetched. It is not safe for concurrent use.
type partial struct {
	path   string
	alg    string
	source string
	bootID string

	file  *os.File
	state *partialState // nil: what is there cannot be gone on with in another process
	size  int64
	sums  digests
}

// openPartial opens the partial file of a source, with what an earlier fetch left if that is usable. Such a prefix has
// to be summed (rehash) before anything is appended.
func (c *Cache) openPartial(s source) (*partial, error) {
	p := &partial{path: c.path(partialDir, s.key), alg: s.alg, source: s.where, bootID: c.bootID}
	file, err := os.OpenFile(p.path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, disk.Classify("open a partial file", err)
	}
	p.file = file
	if err := p.load(); err != nil {
		_ = file.Close()
		return nil, disk.Classify("read a partial file", err)
	}
	return p, nil
}

func (p *partial) load() error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	p.sums = newDigests(p.alg)
	var state partialState
	data, err := os.ReadFile(p.path + stateSuffix)
	if err != nil || json.Unmarshal(data, &state) != nil || state.Synced < 0 || info.Size() < state.Synced {
		return p.reset()
	}
	p.size, p.state = state.Synced, &state
	if state.BootID == p.bootID && p.bootID != "" {
		p.size = info.Size()
	}
	return p.file.Truncate(p.size)
}

// rehash sums the prefix that an earlier fetch left.
func (p *partial) rehash(ctx context.Context, report func(done int64)) error {
	p.sums = newDigests(p.alg)
	buffer := make([]byte, bufferSize)
	for at := int64(0); at < p.size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := p.file.ReadAt(buffer[:min(bufferSize, p.size-at)], at)
		if n == 0 && err != nil {
			return disk.Classify("read a partial file", err)
		}
		p.sums.write(buffer[:n])
		at += int64(n)
		report(at)
	}
	return nil
}

// reset forgets what is there.
func (p *partial) reset() error {
	p.size, p.state, p.sums = 0, nil, newDigests(p.alg)
	if err := os.Remove(p.path + stateSuffix); err != nil && !os.IsNotExist(err) {
		return err
	}
	return p.file.Truncate(0)
}

// begin records what a server said about the whole, before the first byte of it is written.
func (p *partial) begin(etag, lastModified string, total int64) error {
	p.state = &partialState{Source: p.source, ETag: etag, LastModified: lastModified, Total: max(total, 0), BootID: p.bootID}
	return p.sync()
}

// write appends. Runs of zeros become holes.
func (p *partial) write(b []byte) error {
	end := p.size + int64(len(b))
	var err error
	if bytes.Equal(b, zeros[:len(b)]) {
		err = p.file.Truncate(end)
	} else {
		_, err = p.file.WriteAt(b, p.size)
	}
	if err != nil {
		_ = p.file.Truncate(p.size) // a part of b may be there, which the sums do not know
		return err
	}
	p.sums.write(b)
	p.size = end
	if p.state != nil && p.size-p.state.Synced >= syncStep {
		return p.sync()
	}
	return nil
}

var zeros [bufferSize]byte

// sync makes the bytes durable, and then the record of how many there are.
func (p *partial) sync() error {
	if err := unix.Fdatasync(int(p.file.Fd())); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	p.state.Synced = p.size
	data, err := json.Marshal(p.state)
	if err != nil {
		return err
	}
	return disk.WriteFile(p.path+stateSuffix, data, 0o600)
}

// keep closes the file for a later fetch to go on with, or removes it if none could.
func (p *partial) keep() {
	if p.state == nil || p.size == 0 {
		p.discard()
		return
	}
	_ = p.sync() // if it fails, the next fetch starts a little earlier
	_ = p.file.Close()
}

// discard removes everything.
func (p *partial) discard() {
	_ = p.file.Close()
	_ = os.Remove(p.path)
	_ = os.Remove(p.path + stateSuffix)
}

// bootID identifies this boot of the host; empty if it cannot be told, which matches nothing.
func bootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
