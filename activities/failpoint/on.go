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

// Hit marks the place as seen and, if it is armed for this scope or for any, waits there or kills the process.
func Hit(name, scope string) {
	dir := os.Getenv("BERTH_FAILPOINTS_DIR")
	if dir == "" {
		return
	}
	seen := filepath.Join(dir, "seen")
	_ = os.MkdirAll(seen, 0o755)
	for _, place := range []string{name + "@" + scope, name} {
		_ = os.WriteFile(filepath.Join(seen, place), nil, 0o600)
		stop(filepath.Join(dir, place))
	}
}

func stop(place string) {
	hit := place + ".hit"
	if os.Rename(place+".arm", hit) != nil {
		return
	}
	if how, _ := os.ReadFile(hit); strings.TrimSpace(string(how)) == "kill" {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	for {
		if _, err := os.Stat(hit); os.IsNotExist(err) {
			return
		}
		time.Sleep(5 * time.Millisecond) //nolint:forbidigo // a test removes the file; only builds for tests have this
	}
}
