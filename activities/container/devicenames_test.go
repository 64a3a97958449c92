package container_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/container"
)

func TestDevicesAreTakenForTheSameByNumber(t *testing.T) {
	dir := t.TempDir()
	link := func(name, target string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.Symlink(target, path))
		return path
	}
	null, chain, other := link("null", "/dev/null"), link("chain", filepath.Join(dir, "null")), link("other", "/dev/zero")
	link("gone", "/dev/does-not-exist")
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))

	names := container.DeviceNames([]string{"/dev/null", other, filepath.Join(dir, "*")})
	require.Equal(t, map[string]string{null: "/dev/null", chain: "/dev/null", other: "/dev/zero"}, only(names, dir))
	require.Equal(t, map[string]string{null: "/dev/null"}, only(container.DeviceNames([]string{null}), dir), "a link may be what is allowed")
	require.Empty(t, only(container.DeviceNames([]string{"/dev/full", file}), dir), "of what is not given out nothing is told")
	require.Empty(t, container.DeviceNames(nil))
}

// only are the names in a directory: a machine may have more of its own.
func only(names map[string]string, dir string) map[string]string {
	own := map[string]string{}
	for name, first := range names {
		if filepath.Dir(name) == dir {
			own[name] = first
		}
	}
	return own
}
