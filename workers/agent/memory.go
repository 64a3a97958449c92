package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// memoryFile stands in the data directory.
const memoryFile = "lease"

// memory is what the host remembers of its fleet, so that it notices when the fleet has forgotten: a Temporal database that
// was emptied, or put back to an earlier day, gives lease numbers that it gave before.
type memory struct {
	path string

	mu   sync.Mutex
	data struct {
		// Lease is the highest number that was ever given, Rewound when a lower one was given after it.
		Lease   int64     `json:"lease"`
		Rewound time.Time `json:"rewound,omitzero"`
	}
}

func openMemory(dataDir string) (*memory, error) {
	m := &memory{path: filepath.Join(dataDir, memoryFile)}
	data, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &m.data)
	}
	if err != nil {
		return nil, fmt.Errorf("read what is remembered of the fleet (remove %s if it is damaged): %w", m.path, err)
	}
	return m, nil
}

// admitted notes a lease number.
func (m *memory) admitted(lease int64, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if lease <= m.data.Lease {
		m.data.Rewound = now
	}
	m.data.Lease = lease
	data, err := json.Marshal(m.data)
	if err != nil {
		return err
	}
	tmp := m.path + ".tmp"
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return fmt.Errorf("note the lease's number: %w", err)
	}
	return os.Rename(tmp, m.path)
}

// rewound is when the fleet was last seen to have forgotten; zero if it never was.
func (m *memory) rewound() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.data.Rewound
}
