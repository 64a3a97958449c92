package disk_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/disk"
	v1 "github.com/berth-dev/berth/api/v1"
)

func TestCopyKeepsContentAndHoles(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
	randomFile(t, src, 20<<20)
	require.NoError(t, os.Truncate(src, 512<<20)) // a hole at the end
	patch(t, src, 300<<20, 1, 2, 3)               // and data in it

	var seen []v1.Progress
	require.NoError(t, disk.Copy(t.Context(), src, dst, func(p v1.Progress) { seen = append(seen, p) }))
	run(t, "cmp", src, dst)
	info, err := disk.Inspect(dst)
	require.NoError(t, err)
	require.Equal(t, int64(512)<<20, info.Size)
	require.Less(t, info.Allocated, int64(30)<<20)

	require.NotEmpty(t, seen)
	for i := 1; i < len(seen); i++ {
		require.GreaterOrEqual(t, seen[i].Done, seen[i-1].Done)
	}
	last := seen[len(seen)-1]
	require.Equal(t, last.Total, last.Done)
	requireOnly(t, dir, "src", "dst")
	requireReason(t, disk.Copy(t.Context(), src, dst, nil), v1.ReasonImmutable, true)
}

func TestCopyAcrossFileSystems(t *testing.T) {
	src := filepath.Join(t.TempDir(), "src")
	randomFile(t, src, 5<<20+123)
	require.NoError(t, os.Truncate(src, 64<<20))
	dst := filepath.Join(mountSmall(t, "16"), "dst")
	require.NoError(t, disk.Copy(t.Context(), src, dst, nil))
	run(t, "cmp", src, dst)
}

func TestCopyOfAnAllHoleFile(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "src")
	require.NoError(t, disk.CreateBlank(t.Context(), src, v1.FormatRaw, 1<<30))
	require.NoError(t, disk.Copy(t.Context(), src, filepath.Join(dir, "dst"), nil))
	info, err := disk.Inspect(filepath.Join(dir, "dst"))
	require.NoError(t, err)
	require.Equal(t, int64(1)<<30, info.Size)
	require.Less(t, info.Allocated, int64(1)<<20)
}

func TestCopyRefusesBeforeTheDiskIsFull(t *testing.T) {
	src := filepath.Join(t.TempDir(), "src")
	randomFile(t, src, 8<<20)
	dir := mountSmall(t, "4")
	requireReason(t, disk.Copy(t.Context(), src, filepath.Join(dir, "dst"), nil), v1.ReasonDiskFull, false)
	requireOnly(t, dir)
}

func TestCopyCancelledLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
	randomFile(t, src, 64<<20)
	ctx, cancel := context.WithCancel(t.Context())
	var last int64
	err := disk.Copy(ctx, src, dst, func(p v1.Progress) { cancel(); last = p.Done })
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, last, int64(32<<20), "it did not go on")
	requireOnly(t, dir, "src")
}

func TestCopyReplacesAnAbandonedTemporary(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
	want := randomFile(t, src, 1<<20)
	randomFile(t, filepath.Join(dir, ".dst.berth-tmp"), 3<<20)
	require.NoError(t, disk.Copy(t.Context(), src, dst, nil))
	got, err := os.ReadFile(dst)
	require.NoError(t, err)
	require.Equal(t, want, got)
	requireOnly(t, dir, "src", "dst")
}

func TestCleanTemporaries(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".a.berth-tmp", "a", ".hidden", "b.berth-tmp"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	require.NoError(t, disk.CleanTemporaries(dir))
	requireOnly(t, dir, "a", ".hidden", "b.berth-tmp")
	require.NoError(t, disk.CleanTemporaries(filepath.Join(dir, "absent")))
}
