package image_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/disk"
	"github.com/berth-dev/berth/activities/image"
	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	"github.com/berth-dev/berth/workflows/contract"
)

const keep = time.Hour

// shelf is a cache whose images are kept for an hour, with a directory of disks, and what removes orphans.
type shelf struct {
	*image.Cache
	t      *testing.T
	dir    string // of the cache
	disks  string
	runner *step.Runner
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	dataDir := t.TempDir()
	store, err := record.Open(dataDir, "f", "h1")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	s := &shelf{
		t: t, dir: filepath.Join(dataDir, "images"), disks: filepath.Join(dataDir, "workloads"),
		runner: step.NewRunner(store, slog.New(slog.DiscardHandler)),
	}
	s.Cache = open(t, s.dir, image.Options{Keep: keep, Disks: s.disks})
	return s
}

// fetch gets an image, which has no checksum: its entry alone leads to it.
func (s *shelf) fetch(url string) image.Image {
	s.t.Helper()
	img, err := s.Ensure(s.t.Context(), raw(url, ""), nil)
	require.NoError(s.t, err)
	return img
}

// age makes the last use of an image older than images are kept.
func (s *shelf) age(img image.Image) {
	s.t.Helper()
	then := time.Now().Add(-2 * keep)
	require.NoError(s.t, os.Chtimes(img.Path, then, then))
}

func (s *shelf) overlay(img image.Image, workload string) string {
	s.t.Helper()
	path := filepath.Join(s.disks, workload, "disk-root.qcow2")
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o711))
	require.NoError(s.t, s.Use(img, func() error { return disk.CreateOverlay(s.t.Context(), img.Path, img.Format, path, 0) }))
	return path
}

func (s *shelf) unused() []string {
	s.t.Helper()
	things, err := s.Inventory(s.t.Context(), contract.ThingImage)
	require.NoError(s.t, err)
	names := []string{}
	for _, thing := range things {
		require.Equal(s.t, contract.ThingImage, thing.Kind)
		require.True(s.t, thing.Known)
		require.Greater(s.t, thing.Age, keep)
		require.Empty(s.t, thing.Workload)
		names = append(names, thing.Name)
	}
	return names
}

func (s *shelf) discard(o contract.Orphan) (string, error) {
	o.Thing.Kind = contract.ThingImage
	return s.runner.Discard(s.t.Context(), o, func(ctx context.Context, call *step.Call) (string, error) { return s.Discard(ctx, call, o) })
}

func orphan(img image.Image) contract.Orphan {
	return contract.Orphan{Thing: contract.Thing{Name: filepath.Base(img.Path)}, Grace: time.Minute}
}

func (s *shelf) requireKept(img image.Image, why string) {
	s.t.Helper()
	kept, err := s.discard(orphan(img))
	require.NoError(s.t, err)
	require.Contains(s.t, kept, why)
	require.FileExists(s.t, img.Path)
}

func (s *shelf) requireRemoved(img image.Image) {
	s.t.Helper()
	kept, err := s.discard(orphan(img))
	require.NoError(s.t, err)
	require.Empty(s.t, kept)
	require.NoFileExists(s.t, img.Path)
}

// twoImages serves two images, at /0 and /1, with validators.
func twoImages(t *testing.T) *server {
	t.Helper()
	data := [][]byte{content(t, mib), content(t, mib)}
	return serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		i := int(r.URL.Path[1] - '0')
		serveContent(w, r, fmt.Sprintf(`"%d"`, i), data[i])
	})
}
