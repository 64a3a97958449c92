package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const fileName = "record.json"

// TombstoneLife is how long a removed workload's record is kept, so that late work is still refused.
const TombstoneLife = 30 * 24 * time.Hour

// Store is the records of one host, held in its data directory. One process at a time can have it open.
type Store struct {
	dir, fleet, host string
	volatile         bool
	lockFile         *os.File

	mu      sync.Mutex
	records map[string]Record
	broken  map[string]error
	locks   map[string]chan struct{}
}

// Option changes how a store keeps its records.
type Option func(*Store)

// Volatile writes records without waiting for the disk: they outlive the process, but not the machine. That is enough where
// what they tell of does not outlive the process either, and keeps hundreds of hosts on one disk from waiting for it.
func Volatile() Option { return func(s *Store) { s.volatile = true } }

// Open locks the data directory and reads its records. A record that can't be read makes only its own workload
// unobservable. Tombstones older than TombstoneLife are dropped.
func Open(dataDir, fleet, host string, options ...Option) (*Store, error) {
	dir := filepath.Join(dataDir, "workloads")
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dataDir, "agent.lock"), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the data directory's lock: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("data directory %s is used by another agent: %w", dataDir, err)
	}
	s := &Store{
		dir: dir, fleet: fleet, host: host, lockFile: lock,
		records: map[string]Record{}, broken: map[string]error{}, locks: map[string]chan struct{}{},
	}
	for _, o := range options {
		o(s)
	}
	return s, s.load(time.Now())
}

func (s *Store) load(now time.Time) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("read the records: %w", err)
	}
	for _, e := range entries {
		name := e.Name()
		r, err := s.read(name)
		switch {
		case errors.Is(err, os.ErrNotExist):
			// a directory that was made just before a crash: nothing was begun in it
		case err != nil:
			s.broken[name] = err
		case r.Tombstone() && now.Sub(r.RemovedAt) > TombstoneLife:
			_ = os.RemoveAll(filepath.Join(s.dir, name))
		default:
			s.records[name] = r
		}
	}
	return nil
}

// read reads a workload's record from its file, and refuses one that was written for something else.
func (s *Store) read(workload string) (Record, error) {
	data, err := os.ReadFile(filepath.Join(s.dir, workload, fileName))
	if err != nil {
		return Record{}, err
	}
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return Record{}, err
	}
	if r.Fleet != s.fleet || r.Host != s.host || r.Workload != workload {
		return Record{}, fmt.Errorf("the record belongs to fleet %q, host %q, workload %q", r.Fleet, r.Host, r.Workload)
	}
	return r, nil
}

// mend reads a broken record again: the host's admin may have restored it, or moved it away, which counts as no record.
func (s *Store) mend(workload string) error {
	r, err := s.read(workload)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		s.broken[workload] = err
		return err
	default:
		s.records[workload] = r
	}
	delete(s.broken, workload)
	return nil
}

// Close gives the data directory up.
func (s *Store) Close() error { return s.lockFile.Close() }

// Dir is the workload's directory. It may not exist yet.
func (s *Store) Dir(workload string) string { return filepath.Join(s.dir, workload) }

// Get returns a workload's record, and an empty one (with the names filled in) if there is none. A record that can't be
// read is an error: the workload is unobservable, and nothing may be concluded or changed. Such a file is read again at
// each call, so that who mends it need not restart the agent.
func (s *Store) Get(workload string) (Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken[workload] != nil {
		if err := s.mend(workload); err != nil {
			return Record{}, contract.Retryable(v1.ReasonRuntimeUnavailable,
				"on the host, restore the record from a backup, or move it away: Berth then goes by what it finds there",
				"the host's record of %s (%s) can't be read", workload, filepath.Join(s.dir, workload, fileName)).WithCause(err)
		}
	}
	r, ok := s.records[workload]
	if !ok {
		r = Record{Fleet: s.fleet, Host: s.host, Workload: workload}
	}
	return r, nil
}

// List returns all readable records, by name.
func (s *Store) List() []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Record, 0, len(s.records))
	for _, r := range s.records {
		all = append(all, r)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Workload < all[j].Workload })
	return all
}

// Broken returns the workloads whose record can't be read, by name.
func (s *Store) Broken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.broken))
}

// WrittenAt is when a workload's record was last written; false if it has none.
func (s *Store) WrittenAt(workload string) (time.Time, bool) {
	info, err := os.Stat(filepath.Join(s.dir, workload, fileName))
	if err != nil {
		return time.Time{}, false
	}
	return info.ModTime(), true
}

// Names returns the names of all workloads that have a record, readable or not, in order.
func (s *Store) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.AppendSeq(slices.Collect(maps.Keys(s.records)), maps.Keys(s.broken))
	slices.Sort(names)
	return names
}

// Put writes a record durably: when it returns, a crash does not lose it (see Volatile). The caller holds the workload's lock.
func (s *Store) Put(r Record) error {
	dir := s.Dir(r.Workload)
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return diskError(err)
	}
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode the record: %w", err)
	}
	if err := s.write(filepath.Join(dir, fileName), data); err != nil {
		return diskError(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[r.Workload] = r
	return nil
}

// Lock takes a workload's lock. If it is still held when wait is over, a driver call of an earlier action has not come
// back: that is RuntimeUnavailable, and retryable.
func (s *Store) Lock(ctx context.Context, workload string, wait time.Duration) (unlock func(), err error) {
	l := s.lock(workload)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case l <- struct{}{}:
		return sync.OnceFunc(func() { <-l }), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-timer.C:
		return nil, contract.Retryable(v1.ReasonRuntimeUnavailable, "it is tried again by itself; if it stays, restart the runtime",
			"an earlier step on %s has not come back from the runtime", workload)
	}
}

// lock is held by who has put something into it.
func (s *Store) lock(workload string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.locks[workload]
	if !ok {
		l = make(chan struct{}, 1)
		s.locks[workload] = l
	}
	return l
}

// write replaces a file as a whole, so that nobody ever sees half of one.
func (s *Store) write(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".record-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone after the rename; else an unfinished write
	_, err = tmp.Write(data)
	if !s.volatile {
		err = errors.Join(err, tmp.Sync())
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil || s.volatile {
		return err
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func diskError(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return contract.Retryable(v1.ReasonDiskFull, "make room on the host's data directory", "the host's record can't be written").WithCause(err)
	}
	return contract.Retryable(v1.ReasonRuntimeUnavailable, "look at the host's data directory", "the host's record can't be written").WithCause(err)
}
