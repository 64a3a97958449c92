//go:build failpoints

package failpoint

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Enabled says whether this build has failpoints.
const Enabled = true

// Hit marks the place as seen and, if it is armed, waits there or kills the process.
func Hit(name string) {
	dir := os.Getenv("BERTH_FAILPOINTS_DIR")
	if dir == "" {
		return
	}
	seen := filepath.Join(dir, "seen")
	_ = os.MkdirAll(seen, 0o755)
	_ = os.WriteFile(filepath.Join(seen, name), nil, 0o600)

	hit := filepath.Join(dir, name+".hit")
	if os.Rename(filepath.Join(dir, name+".arm"), hit) != nil {
		return
	}
	if how, _ := os.ReadFile(hit); strings.TrimSpace(string(how)) == "kill" {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	for {
		if _, err := os.Stat(hit); os.IsNotExist(err) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
