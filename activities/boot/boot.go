// Package boot tells one boot of the machine from another.
package boot

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ProcFS is where Linux shows what it knows of the machine.
const ProcFS = "/proc"

// Boot is one boot of the machine.
type Boot struct {
	// ID is made anew by the kernel at each boot. "unknown" if it can't be read.
	ID string
	// At is when it booted, to the second, or zero if that can't be read.
	At time.Time
}

// Read reads the present boot from a proc filesystem.
func Read(procFS string) Boot {
	b := Boot{ID: "unknown"}
	if data, err := os.ReadFile(filepath.Join(procFS, "sys/kernel/random/boot_id")); err == nil {
		b.ID = strings.TrimSpace(string(data))
	}
	data, err := os.ReadFile(filepath.Join(procFS, "stat"))
	if err != nil {
		return b
	}
	for line := range strings.Lines(string(data)) {
		seconds, ok := strings.CutPrefix(line, "btime ")
		if !ok {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(seconds), 10, 64); err == nil {
			b.At = time.Unix(n, 0)
		}
		break
	}
	return b
}
