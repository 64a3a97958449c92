package image

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/berth-dev/berth/activities/disk"
)

// cleanPartials removes partial files that cannot be gone on with: those without their record, records without a file,
// and whatever was last written before a time.
func cleanPartials(dir string, before time.Time) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return disk.Classify("list "+dir, err)
	}
	for _, e := range entries {
		data := filepath.Join(dir, strings.TrimSuffix(e.Name(), stateSuffix))
		if usable(data, before) {
			continue
		}
		for _, path := range []string{data, data + stateSuffix} {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return disk.Classify("remove an abandoned download", err)
			}
		}
	}
	return nil
}

func usable(data string, before time.Time) bool {
	_, err := os.Lstat(data)
	if err != nil {
		return false
	}
	state, err := os.Lstat(data + stateSuffix)
	return err == nil && state.ModTime().After(before)
}
