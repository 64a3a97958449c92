package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Restore writes the records again that no longer stand on disk as this process wrote them: somebody has removed or replaced
// their files, and what the one process knows that has the directory open is the truth. It returns their workloads. One that
// is worked on is left for the next time, as are those that are unobservable.
func (s *Store) Restore() (restored []string, err error) {
	for _, known := range s.List() {
		again, failed := s.restore(known.Workload)
		if again && failed == nil {
			restored = append(restored, known.Workload)
		}
		err = errors.Join(err, failed)
	}
	return restored, err
}

func (s *Store) restore(workload string) (again bool, err error) {
	l := s.lock(workload)
	select {
	case l <- struct{}{}:
		defer func() { <-l }()
	default:
		return false, nil
	}
	known, err := s.Get(workload)
	if err != nil || s.stands(known) {
		return false, nil //nolint:nilerr // one that can't be read is told of wherever it is needed
	}
	if err := s.Put(known); err != nil {
		return true, fmt.Errorf("write the record of %s again: %w", workload, err)
	}
	return true, nil
}

// stands reports whether a record's file says what is known. Both are compared as they are written today.
func (s *Store) stands(known Record) bool {
	found, err := s.read(known.Workload)
	if err != nil {
		return false
	}
	a, errA := json.Marshal(known)
	b, errB := json.Marshal(found)
	return errors.Join(errA, errB) == nil && bytes.Equal(a, b)
}
