package disk_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/disk"
	v1 "github.com/berth-dev/berth/api/v1"
)

// based makes a directory with a disk below it that is based on an image elsewhere.
func based(t *testing.T) (dir, base, overlay string) {
	t.Helper()
	base = filepath.Join(t.TempDir(), "base.qcow2")
	qemuCreate(t, "-f", "qcow2", base, "1M")
	dir = t.TempDir()
	overlay = filepath.Join(dir, "db", "disk-root.qcow2")
	require.NoError(t, os.Mkdir(filepath.Dir(overlay), 0o755))
	qemuCreate(t, "-f", "qcow2", "-b", base, "-F", "qcow2", overlay)
	return dir, base, overlay
}

func TestBackings(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, dir, base, overlay string)
		// none: nothing names the base.
		none bool
	}{
		"an overlay": {change: func(*testing.T, string, string, string) {}},
		"no overlay": {none: true, change: func(t *testing.T, _, _, overlay string) { require.NoError(t, os.Remove(overlay)) }},
		"standalone disks and other files": {none: true, change: func(t *testing.T, dir, _, overlay string) {
			require.NoError(t, os.Remove(overlay))
			qemuCreate(t, "-f", "qcow2", overlay, "1M")
			require.NoError(t, os.WriteFile(filepath.Join(dir, "db", "empty"), nil, 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "db", "record.json"), []byte("{}"), 0o600))
			run(t, "mkfifo", filepath.Join(dir, "db", "fifo"))
		}},
		"of the first version": {change: func(t *testing.T, _, base, overlay string) {
			require.NoError(t, os.Remove(overlay))
			qemuCreate(t, "-f", "qcow2", "-o", "compat=0.10", "-b", base, "-F", "qcow2", overlay)
		}},
		"marked as corrupt": {change: func(t *testing.T, _, _, overlay string) {
			patch(t, overlay, 79, 0x02)
			_, err := disk.InspectManaged(overlay)
			requireReason(t, err, v1.ReasonImageInvalid, true)
		}},
		"cut off after its header": {change: func(t *testing.T, _, _, overlay string) {
			require.NoError(t, os.Truncate(overlay, 4096))
			_, err := disk.InspectManaged(overlay)
			requireReason(t, err, v1.ReasonImageInvalid, true)
		}},
		"in the middle of a chain": {change: func(t *testing.T, _, _, overlay string) {
			qemuCreate(t, "-f", "qcow2", "-b", overlay, "-F", "qcow2", overlay+".snapshot")
		}},
		"in a directory elsewhere, by a link": {change: func(t *testing.T, dir, _, overlay string) {
			elsewhere := filepath.Join(t.TempDir(), "db")
			require.NoError(t, os.Rename(filepath.Dir(overlay), elsewhere))
			require.NoError(t, os.Symlink(elsewhere, filepath.Join(dir, "db")))
		}},
		"by a relative name": {change: func(t *testing.T, dir, base, overlay string) {
			require.NoError(t, os.Symlink(base, filepath.Join(dir, "db", "link")))
			run(t, "qemu-img", "rebase", "-u", "-f", "qcow2", "-b", "link", "-F", "qcow2", overlay)
		}},
		"beside links in a circle": {change: func(t *testing.T, dir, _, _ string) {
			require.NoError(t, os.Symlink(dir, filepath.Join(dir, "db", "circle")))
		}},
		"while it is being made": {none: true, change: func(t *testing.T, dir, _, overlay string) {
			require.NoError(t, os.Rename(overlay, filepath.Join(dir, "db", ".disk-root.qcow2.berth-tmp")))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, base, overlay := based(t)
			c.change(t, dir, base, overlay)
			names, err := disk.Backings(dir)
			require.NoError(t, err)
			require.Equal(t, c.none, len(names) == 0, "%v", names)
			if !c.none {
				require.Contains(t, names, base)
			}
		})
	}
}

func TestBackingsThatCannotBeRead(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir, overlay string){
		"no directory": func(t *testing.T, dir, _ string) { require.NoError(t, os.RemoveAll(dir)) },
		"a damaged header": func(t *testing.T, _, overlay string) {
			patch(t, overlay, 7, 9)
		},
		"a name outside of the header": func(t *testing.T, _, overlay string) {
			patch(t, overlay, 8, 0x7f)
		},
		"a directory that is not mounted": func(t *testing.T, dir, _ string) {
			require.NoError(t, os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "web")))
		},
		"a disk that is not mounted": func(t *testing.T, dir, _ string) {
			require.NoError(t, os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "db", "disk-data.qcow2")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _, overlay := based(t)
			change(t, dir, overlay)
			_, err := disk.Backings(dir)
			require.Error(t, err)
		})
	}
}
