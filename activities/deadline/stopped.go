package deadline

import (
	"errors"
	"os"
	"path/filepath"
)

const stoppedDir = "stopped"

// NoteStopped notes, before it is done, that a workload is stopped because the lease ended. Agent and guard both do: how its
// process then exits is not the workload's own end.
func (d Dir) NoteStopped(workload string) error {
	return os.WriteFile(d.stopped(workload), nil, 0o600)
}

// WasStopped reports whether a workload was stopped because the lease ended, and not started since.
func (d Dir) WasStopped(workload string) bool {
	_, err := os.Stat(d.stopped(workload))
	return err == nil
}

// ForgetStopped drops the note: the workload runs again, or is gone.
func (d Dir) ForgetStopped(workload string) error {
	if err := os.Remove(d.stopped(workload)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (d Dir) stopped(workload string) string { return filepath.Join(string(d), stoppedDir, workload) }
