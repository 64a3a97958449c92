package disk_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/disk"
	v1 "github.com/berth-dev/berth/api/v1"
)

func TestCreateOverlay(t *testing.T) {
	dir := t.TempDir()
	base, dst := filepath.Join(dir, "base"), filepath.Join(dir, "disk.qcow2")
	qemuCreate(t, "-f", "qcow2", base, "1G")

	require.NoError(t, disk.CreateOverlay(t.Context(), base, v1.FormatQCOW2, dst, 3<<30))
	info, err := disk.InspectManaged(dst)
	require.NoError(t, err)
	require.Equal(t, int64(3)<<30, info.VirtualSize)
	require.Equal(t, base, info.Backing)
	require.Equal(t, v1.FormatQCOW2, info.BackingFormat)
	requireOnly(t, dir, "base", "disk.qcow2")
	stat, err := os.Stat(dst)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), stat.Mode().Perm())

	_, err = disk.Inspect(dst)
	requireReason(t, err, v1.ReasonImageInvalid, true)
	requireReason(t, disk.CreateOverlay(t.Context(), base, v1.FormatQCOW2, dst, 0), v1.ReasonImmutable, true)
}

func TestCreateOverlayRefusals(t *testing.T) {
	dir := t.TempDir()
	base, evil, dst := filepath.Join(dir, "base"), filepath.Join(dir, "evil"), filepath.Join(dir, "disk")
	qemuCreate(t, "-f", "qcow2", base, "1G")
	qemuCreate(t, "-f", "qcow2", "-b", "/etc/hostname", "-F", "raw", evil, "1M")

	tests := map[string]struct {
		base, dst string
		format    v1.DiskFormat
		size      int64
		reason    v1.Reason
	}{
		"smaller than its base": {base, dst, v1.FormatQCOW2, 1 << 20, v1.ReasonImmutable},
		"other format":          {base, dst, v1.FormatRaw, 0, v1.ReasonImageInvalid},
		"base with a backing":   {evil, dst, v1.FormatQCOW2, 0, v1.ReasonImageInvalid},
		"relative":              {base, "disk", v1.FormatQCOW2, 0, v1.ReasonInvalid},
		"option":                {base, "--help", v1.FormatQCOW2, 0, v1.ReasonInvalid},
		"absurd size":           {base, dst, v1.FormatQCOW2, 1 << 60, v1.ReasonInvalid},
		"no base":               {filepath.Join(dir, "absent"), dst, v1.FormatQCOW2, 0, v1.ReasonNotFound},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			requireReason(t, disk.CreateOverlay(t.Context(), tt.base, tt.format, tt.dst, tt.size), tt.reason, true)
			requireOnly(t, dir, "base", "evil")
		})
	}
}

func TestCreateBlankAndGrow(t *testing.T) {
	for _, format := range []v1.DiskFormat{v1.FormatRaw, v1.FormatQCOW2} {
		t.Run(string(format), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "disk")
			require.NoError(t, disk.CreateBlank(t.Context(), path, format, 1<<30))
			require.NoError(t, disk.Grow(t.Context(), path, format, 1<<30))
			require.NoError(t, disk.Grow(t.Context(), path, format, 2<<30))
			info, err := disk.InspectAs(path, format)
			require.NoError(t, err)
			require.Equal(t, int64(2)<<30, info.VirtualSize)
			require.Less(t, info.Allocated, int64(2)<<20)

			requireReason(t, disk.Grow(t.Context(), path, format, 1<<30), v1.ReasonImmutable, true)
			requireReason(t, disk.CreateBlank(t.Context(), path, format, 1<<30), v1.ReasonImmutable, true)
		})
	}
	requireReason(t, disk.CreateBlank(t.Context(), filepath.Join(t.TempDir(), "x"), "vmdk", 1<<30), v1.ReasonInvalid, true)
	requireReason(t, disk.CreateBlank(t.Context(), filepath.Join(t.TempDir(), "x"), v1.FormatRaw, 0), v1.ReasonInvalid, true)
}

func TestGrowOverlayNeedsAMark(t *testing.T) {
	dir := t.TempDir()
	base, path := filepath.Join(dir, "base"), filepath.Join(dir, "disk")
	qemuCreate(t, "-f", "qcow2", base, "1G")
	require.NoError(t, disk.CreateOverlay(t.Context(), base, v1.FormatQCOW2, path, 0))

	requireReason(t, disk.Grow(t.Context(), path, v1.FormatQCOW2, 2<<30), v1.ReasonNotFound, true)
	require.NoError(t, disk.Mark(path, marker))
	require.NoError(t, disk.Grow(t.Context(), path, v1.FormatQCOW2, 2<<30))
	info, err := disk.InspectManaged(path)
	require.NoError(t, err)
	require.Equal(t, int64(2)<<30, info.VirtualSize)
}

func TestCancelKillsQEMUImg(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	require.NoError(t, os.Mkdir(bin, 0o755))
	started := filepath.Join(dir, "started")
	// A tool that hangs, as qemu-img does on a dead network file system.
	script := "#!/bin/sh\n: > " + started + "\nexec sleep 600\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "qemu-img"), []byte(script), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- disk.CreateBlank(ctx, filepath.Join(dir, "disk"), v1.FormatQCOW2, 1<<30) }()
	require.Eventually(t, func() bool { _, err := os.Stat(started); return err == nil }, 2*time.Minute, 5*time.Millisecond)
	cancelled := time.Now()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Less(t, time.Since(cancelled), 5*time.Minute, "it would hang for ten")
	requireOnly(t, dir, "bin", "started")
}

func TestCreateOnAFullDisk(t *testing.T) {
	dir := mountSmall(t, "1")
	randomFile(t, filepath.Join(dir, "filler"), 900<<10)
	path := filepath.Join(dir, "disk")
	requireReason(t, disk.CreateBlank(t.Context(), path, v1.FormatQCOW2, 1<<40), v1.ReasonDiskFull, false)
	requireOnly(t, dir, "filler")
}
