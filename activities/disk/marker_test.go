package disk_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/disk"
	v1 "github.com/berth-dev/berth/api/v1"
)

var (
	marker = disk.Marker{Fleet: "f1", Host: "h1", Workload: "web", Generation: 2, Fence: 77, Disk: "root"}
	owner  = disk.Owner{Fleet: "f1", Host: "h1", Workload: "web"}
)

func TestMarkAndRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk")
	require.NoError(t, disk.Mark(path, disk.Marker{Fleet: "old"}))
	require.NoError(t, disk.Mark(path, marker))
	got, err := disk.ReadMarker(path)
	require.NoError(t, err)
	require.Equal(t, marker, got)
	requireOnly(t, filepath.Dir(path), "disk.berth.json")
}

func TestRemoveManaged(t *testing.T) {
	tests := map[string]struct {
		file   bool
		marker *disk.Marker
		owner  disk.Owner
		reason v1.Reason
		left   []string
	}{
		"its own":              {true, &marker, owner, v1.ReasonNone, nil},
		"any workload's":       {true, &marker, disk.Owner{Fleet: "f1", Host: "h1"}, v1.ReasonNone, nil},
		"only the marker left": {false, &marker, owner, v1.ReasonNone, nil},
		"gone already":         {false, nil, owner, v1.ReasonNone, nil},
		"unmarked":             {true, nil, owner, v1.ReasonPolicyDenied, []string{"disk"}},
		"other fleet":          {true, &marker, disk.Owner{Fleet: "f2", Host: "h1"}, v1.ReasonPolicyDenied, []string{"disk", "disk.berth.json"}},
		"other host":           {true, &marker, disk.Owner{Fleet: "f1", Host: "h2"}, v1.ReasonPolicyDenied, []string{"disk", "disk.berth.json"}},
		"other workload":       {true, &marker, disk.Owner{Fleet: "f1", Host: "h1", Workload: "db"}, v1.ReasonPolicyDenied, []string{"disk", "disk.berth.json"}},
		"nobody":               {true, &disk.Marker{}, disk.Owner{}, v1.ReasonPolicyDenied, []string{"disk", "disk.berth.json"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "disk")
			if tt.file {
				require.NoError(t, os.WriteFile(path, []byte("data"), 0o600))
			}
			if tt.marker != nil {
				require.NoError(t, disk.Mark(path, *tt.marker))
			}
			err := disk.RemoveManaged(path, tt.owner)
			if tt.reason == v1.ReasonNone {
				require.NoError(t, err)
			} else {
				requireReason(t, err, tt.reason, true)
			}
			requireOnly(t, filepath.Dir(path), tt.left...)
		})
	}
}

func TestRemoveManagedRefusesOddThings(t *testing.T) {
	dir := t.TempDir()
	garbled, link := filepath.Join(dir, "garbled"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(garbled, []byte("data"), 0o600))
	require.NoError(t, os.WriteFile(disk.MarkerPath(garbled), []byte("{"), 0o600))
	require.NoError(t, os.Symlink(garbled, link))
	require.NoError(t, disk.Mark(link, marker))
	require.NoError(t, disk.Mark(dir, marker))

	for _, path := range []string{garbled, link, dir, "relative"} {
		err := disk.RemoveManaged(path, owner)
		require.Error(t, err)
		require.FileExists(t, garbled)
	}
}
