package vm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestCheckPaths(t *testing.T) {
	dir := t.TempDir()
	allowed, outside := filepath.Join(dir, "allowed"), filepath.Join(dir, "outside")
	for _, d := range []string{allowed, outside} {
		require.NoError(t, os.Mkdir(d, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(d, "disk"), nil, 0o600))
	}
	require.NoError(t, os.Symlink(outside, filepath.Join(allowed, "link")))
	require.NoError(t, os.Symlink(allowed, filepath.Join(dir, "alias")))

	disk := func(path string) v1.Disk { return v1.Disk{Name: "d", Path: path, Format: v1.FormatRaw} }
	image := func(i v1.DiskImage) v1.Disk { return v1.Disk{Name: "d", Image: &i} }
	for name, tc := range map[string]struct {
		disk v1.Disk
		ok   bool
	}{
		"below":                  {disk(filepath.Join(allowed, "disk")), true},
		"below, missing":         {disk(filepath.Join(allowed, "no/such")), true},
		"by an alias":            {disk(filepath.Join(dir, "alias/disk")), true},
		"outside":                {disk(filepath.Join(outside, "disk")), false},
		"through a link":         {disk(filepath.Join(allowed, "link/disk")), false},
		"through a link, gone":   {disk(filepath.Join(allowed, "link/gone")), false},
		"with dots":              {disk(allowed + "/../outside/disk"), false},
		"the directory itself":   {disk(allowed), false},
		"a sibling's prefix":     {disk(allowed + "-too/disk"), false},
		"relative":               {disk("allowed/disk"), false},
		"blank":                  {v1.Disk{Name: "d", Size: 1}, true},
		"image by path":          {image(v1.DiskImage{Path: filepath.Join(outside, "disk")}), false},
		"image by file URL":      {image(v1.DiskImage{URL: "file://" + outside + "/disk"}), false},
		"image by FILE URL":      {image(v1.DiskImage{URL: "FILE://" + outside + "/disk"}), false},
		"allowed by file URL":    {image(v1.DiskImage{URL: "file://" + allowed + "/disk"}), true},
		"image from the network": {image(v1.DiskImage{URL: "https://example.com/disk"}), true},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkPaths([]string{allowed}, &v1.VMSpec{Disks: []v1.Disk{tc.disk}})
			if tc.ok {
				require.NoError(t, err)
				return
			}
			require.Equal(t, v1.ReasonPolicyDenied, contract.ReasonOf(err))
		})
	}
	require.Error(t, checkPaths(nil, &v1.VMSpec{Disks: []v1.Disk{disk(filepath.Join(allowed, "disk"))}}))
}
