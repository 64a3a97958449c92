package image_test

import (
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/image"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestWhichImagesAreUnused(t *testing.T) {
	s, srv := newShelf(t), twoImages(t)
	img, other := s.fetch(srv.URL+"/0"), s.fetch(srv.URL+"/1")
	require.Empty(t, s.unused(), "both were just fetched")
	s.age(img)
	require.Equal(t, []string{filepath.Base(img.Path)}, s.unused())
	s.fetch(srv.URL + "/0")
	require.Empty(t, s.unused(), "it was asked for again")

	path := s.overlay(img, "db")
	s.age(img)
	require.Empty(t, s.unused(), "a disk is based on it")
	require.NoError(t, os.Remove(path))
	require.Empty(t, s.unused(), "a disk was based on it until now")
	s.age(img)
	require.NoError(t, s.Use(img, func() error {
		s.age(img)
		require.Empty(t, s.unused(), "a disk is being made of it")
		s.age(img)
		return nil
	}))
	require.Empty(t, s.unused(), "a disk was made of it")

	// An older agent was told another way to the data directory.
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	require.NoError(t, os.Symlink(s.dir, elsewhere))
	byLink := img
	byLink.Path = filepath.Join(elsewhere, filepath.Base(img.Path))
	s.overlay(byLink, "web")
	s.age(img)
	s.age(other)
	require.Equal(t, []string{filepath.Base(other.Path)}, s.unused())

	// Damage keeps everything.
	require.NoError(t, os.WriteFile(filepath.Join(s.disks, "web", "disk-data.qcow2"), []byte("QFI\xfb\x00\x00\x00\x09"), 0o600))
	_, err := s.Inventory(t.Context(), contract.ThingImage)
	requireReason(t, err, v1.ReasonImageInvalid, true)
	s.age(other)
	_, err = s.discard(orphan(other))
	requireReason(t, err, v1.ReasonImageInvalid, true)
	require.FileExists(t, other.Path)
}

func TestImagesThatAreKeptForEver(t *testing.T) {
	s, srv := newShelf(t), twoImages(t)
	img := s.fetch(srv.URL + "/0")
	s.age(img)
	s.Close()
	s.Cache = open(t, s.dir, image.Options{Disks: s.disks})
	require.Empty(t, s.unused())
	s.requireKept(img, "for ever")
}

func TestDiscardImage(t *testing.T) {
	s, srv := newShelf(t), twoImages(t)
	img, other := s.fetch(srv.URL+"/0"), s.fetch(srv.URL+"/1")
	fetched := len(srv.asked())
	index := func() int {
		entries, err := os.ReadDir(filepath.Join(s.dir, "index"))
		require.NoError(t, err)
		return len(entries)
	}
	require.Equal(t, 2, index())

	s.age(img)
	require.Equal(t, img, s.fetch(srv.URL+"/0"))
	fetched++ // it was asked whether it is still the same
	s.requireKept(img, "used since")
	s.age(img)
	path := s.overlay(img, "db")
	s.age(img)
	s.requireKept(img, "based on it")
	require.NoError(t, os.Remove(path))
	require.NoError(t, s.Use(img, func() error {
		s.age(img)
		s.requireKept(img, "being made")
		return nil
	}))
	s.age(img)
	late := orphan(img)
	late.Grace = 3 * keep
	kept, err := s.discard(late)
	require.NoError(t, err)
	require.Contains(t, kept, "younger")

	copied, err := os.Open(img.Path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, copied.Close()) })
	s.requireRemoved(img)
	info, err := copied.Stat()
	require.NoError(t, err)
	require.Equal(t, img.Size, info.Size(), "who has it open still does")
	require.FileExists(t, other.Path)
	require.Equal(t, 1, index())
	s.requireRemoved(img) // what is gone is gone

	err = s.Use(img, func() error { panic("it is gone") })
	requireReason(t, err, v1.ReasonRuntimeError, false)
	require.Equal(t, img, s.fetch(srv.URL+"/0"))
	require.Len(t, srv.asked(), fetched+1, "it was fetched again")
	require.Equal(t, 2, index())
	s.requireKept(img, "used since")
}

// TestOtherFilesOfTheCacheStay tries names that are no images.
func TestOtherFilesOfTheCacheStay(t *testing.T) {
	s, srv := newShelf(t), twoImages(t)
	img := s.fetch(srv.URL + "/0")
	name := filepath.Base(img.Path)
	others := []string{name + ".bak", name[:64], "notes.raw", "../workloads/notes", "index/" + name, name[:64] + ".iso"}
	for _, other := range others {
		path := filepath.Join(s.dir, other)
		require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
		s.age(image.Image{Path: path})
	}
	s.age(img)
	require.Equal(t, []string{name}, s.unused())
	for _, other := range others {
		kept, err := s.discard(contract.Orphan{Thing: contract.Thing{Name: other}})
		require.NoError(t, err)
		require.Contains(t, kept, "no image")
		require.FileExists(t, filepath.Join(s.dir, other))
	}
	s.requireRemoved(img)
	link := filepath.Join(s.disks, "notes")
	require.NoError(t, os.Symlink(link, img.Path))
	kept, err := s.discard(orphan(img))
	require.NoError(t, err)
	require.NotEmpty(t, kept, "a link is somebody else's")
	require.FileExists(t, link)
}

// TestAnImageThatIsAskedFor removes one while its server is asked whether it is still the same.
func TestAnImageThatIsAskedFor(t *testing.T) {
	s, data := newShelf(t), content(t, mib)
	asked, answer := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(answer) })
	srv := serve(t, func(w http.ResponseWriter, r *http.Request, request int) {
		if request == 2 {
			close(asked)
			<-answer
		}
		serveContent(w, r, `"a"`, data)
	})
	t.Cleanup(release)
	img := s.fetch(srv.URL)
	s.age(img)
	again := make(chan image.Image, 1)
	go func() {
		img, _ := s.Ensure(t.Context(), raw(srv.URL, ""), nil)
		again <- img
	}()
	<-asked
	require.Empty(t, s.unused())
	s.age(img)
	s.requireKept(img, "asked for")
	require.NoError(t, os.Remove(img.Path)) // whoever did that
	release()
	require.Equal(t, img, <-again)
	requireImage(t, img, data)
	require.Len(t, srv.asked(), 3)
}

// TestACrashInARemoval leaves an image without its entry.
func TestACrashInARemoval(t *testing.T) {
	s, data := newShelf(t), content(t, mib)
	srv := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) { serveContent(w, r, `"a"`, data) })
	img := s.fetch(srv.URL)
	s.age(img)
	require.NoError(t, os.RemoveAll(filepath.Join(s.dir, "index")))
	s.Close()
	s.Cache = open(t, s.dir, image.Options{Keep: keep, Disks: s.disks})
	require.Equal(t, []string{filepath.Base(img.Path)}, s.unused(), "the next sweep finds it")

	found, err := s.Ensure(t.Context(), raw(srv.URL, sha256Of(data)), nil)
	require.NoError(t, err)
	require.Equal(t, img, found)
	require.Len(t, srv.asked(), 1, "by its digest it is there")
	require.Equal(t, img, s.fetch(srv.URL))
	require.Len(t, srv.asked(), 2, "by its source it is fetched again")
	require.Empty(t, s.unused())
	s.age(img)
	s.requireRemoved(img)
	require.Equal(t, img, s.fetch(srv.URL))
	requireImage(t, img, data)
}
