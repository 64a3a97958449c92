package image_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/image"
	v1 "github.com/berth-dev/berth/api/v1"
)

func TestEnsureLocalFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "disk.img")
	data := append(content(t, mib), make([]byte, 8*mib)...)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	for name, src := range map[string]v1.DiskImage{
		"path":     {Path: path, Format: v1.FormatRaw},
		"URL":      {URL: "file://" + path, Format: v1.FormatRaw},
		"checksum": {Path: path, Format: v1.FormatRaw, Checksum: sha512Of(data)},
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, filepath.Join(t.TempDir(), "images"), image.Options{AllowedPathPrefixes: []string{dir}})
			var last v1.Progress
			img, err := c.Ensure(t.Context(), src, func(p v1.Progress) { last = p })
			require.NoError(t, err)
			requireImage(t, img, data)
			require.Equal(t, v1.Progress{Detail: "copying disk.img", Done: 9 * mib, Total: 9 * mib}, last)
			info, err := os.Stat(img.Path)
			require.NoError(t, err)
			require.Less(t, info.Sys().(*syscall.Stat_t).Blocks*512, int64(2*mib), "zeros become holes")

			// Known by how it looks: the second time nothing is read.
			last = v1.Progress{}
			again, err := c.Ensure(t.Context(), src, func(p v1.Progress) { last = p })
			require.NoError(t, err)
			require.Equal(t, img, again)
			require.Empty(t, last)
		})
	}
}

func TestEnsureLocalFileThatChanged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "disk.img")
	c := open(t, filepath.Join(t.TempDir(), "images"), image.Options{AllowedPathPrefixes: []string{dir}})
	for range 2 {
		data := content(t, mib)
		require.NoError(t, os.WriteFile(path, data, 0o600))
		img, err := c.Ensure(t.Context(), v1.DiskImage{Path: path, Format: v1.FormatRaw}, nil)
		require.NoError(t, err)
		requireImage(t, img, data)
	}
}

func TestEnsureLocalRefusals(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	data := content(t, 4096)
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), data, 0o600))
	require.NoError(t, os.WriteFile(at("plain"), data, 0o600))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), at("link")))
	require.NoError(t, os.Symlink(outside, at("way-out")))
	require.NoError(t, os.Mkdir(at("sub"), 0o755))
	require.NoError(t, syscall.Mkfifo(at("fifo"), 0o600))

	tests := map[string]struct {
		path   string
		reason v1.Reason
	}{
		"outside":               {filepath.Join(outside, "secret"), v1.ReasonPolicyDenied},
		"outside and absent":    {filepath.Join(outside, "no", "such"), v1.ReasonPolicyDenied},
		"neighbour by name":     {dir + "-other/x", v1.ReasonPolicyDenied},
		"link":                  {at("link"), v1.ReasonPolicyDenied},
		"out by a link":         {at("way-out/secret"), v1.ReasonPolicyDenied},
		"directory":             {at("sub"), v1.ReasonPolicyDenied},
		"fifo":                  {at("fifo"), v1.ReasonPolicyDenied},
		"absent":                {at("absent"), v1.ReasonImageNotFound},
		"absent directory":      {at("no/such"), v1.ReasonImageNotFound},
		"file as a directory":   {at("plain/x"), v1.ReasonImageNotFound},
		"not clean":             {dir + "/sub/../plain", v1.ReasonInvalid},
		"relative":              {"plain", v1.ReasonInvalid},
		"is not what it claims": {at("plain"), v1.ReasonImageInvalid},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cacheDir := t.TempDir()
			c := open(t, cacheDir, image.Options{AllowedPathPrefixes: []string{dir}})
			_, err := c.Ensure(t.Context(), v1.DiskImage{Path: tt.path}, nil)
			requireReason(t, err, tt.reason, true)
			requirePartials(t, cacheDir, 0)
			requireNoImages(t, c)
		})
	}
}

func TestEnsureLocalIsDeniedAlsoIfTheContentIsCached(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "disk.img")
	data := content(t, mib)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	cacheDir := t.TempDir()
	src := v1.DiskImage{Path: path, Format: v1.FormatRaw, Checksum: sha256Of(data)}
	_, err := open(t, cacheDir, image.Options{AllowedPathPrefixes: []string{dir}}).Ensure(t.Context(), src, nil)
	require.NoError(t, err)
	_, err = open(t, cacheDir, image.Options{}).Ensure(t.Context(), src, nil)
	requireReason(t, err, v1.ReasonPolicyDenied, true)
}

func TestEnsureOnAFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("this test mounts: run it as root, as make test does")
	}
	data := content(t, 16*mib)
	from := t.TempDir()
	path := filepath.Join(from, "disk.img")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	known := serve(t, contentServer(data, false))
	unknown := serve(t, contentServer(data, true))

	for name, src := range map[string]v1.DiskImage{
		"known length":   raw(known.URL, sha256Of(data)),
		"unknown length": raw(unknown.URL, sha256Of(data)),
		"local":          {Path: path, Format: v1.FormatRaw},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "small")
			require.NoError(t, os.Mkdir(dir, 0o755))
			out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=8m", "berth-test", dir).CombinedOutput()
			require.NoError(t, err, "%s", out)
			t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })

			c := open(t, dir, image.Options{AllowedPathPrefixes: []string{from}})
			_, err = c.Ensure(t.Context(), src, nil)
			requireReason(t, err, v1.ReasonDiskFull, false)
			requireNoImages(t, c)
		})
	}
	require.Less(t, known.bytesSent(), int64(8*mib), "it is refused by its length")
}

func TestList(t *testing.T) {
	data := content(t, mib)
	s := serve(t, contentServer(data, false))
	c := open(t, t.TempDir(), image.Options{})
	img, err := c.Ensure(t.Context(), raw(s.URL, sha256Of(data)), nil)
	require.NoError(t, err)
	images, err := c.List()
	require.NoError(t, err)
	require.Equal(t, []image.Image{img}, images)
}
