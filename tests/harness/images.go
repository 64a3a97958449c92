package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// cacheDir keeps images between runs of the tests, named by what they were built from.
func cacheDir() string {
	if dir := os.Getenv("BERTH_CACHE"); dir != "" {
		return dir
	}
	return "/var/cache/berth"
}

// ContainerImage returns the tag of a tiny container image in the Docker engine, which serves HTTP on port 8080 and has
// a shell. It is built once a machine.
func ContainerImage(t testing.TB) string {
	t.Helper()
	Require(t)
	tag := "berth-test:" + digestOf(t, "container.sh")
	withLock(t, filepath.Join(cacheDir(), "container.lock"), func() {
		if _, err := try("docker", "image", "inspect", tag); err != nil {
			script(t, briefly, imageScript(t, "container.sh"), tag)
		}
	})
	return tag
}

// GuestImage returns the path of a qcow2 image, the smallest that boots by itself: it writes GUEST-READY on its serial
// console after some 3 s without hardware virtualisation. See deploy/images/guest-init. It is built once a machine.
func GuestImage(t testing.TB) string {
	t.Helper()
	return diskImage(t, "guest", 15*time.Minute, "guest.sh", "guest-init", "guest-dhcp", "kernel.sh")
}

// DebianImage returns the path of a qcow2 image of a whole Debian with cloud-init and the guest agent. The first call on
// a machine takes minutes, and each boot about one without hardware virtualisation.
func DebianImage(t testing.TB) string {
	t.Helper()
	return diskImage(t, "debian", 30*time.Minute, "debian.sh")
}

func diskImage(t testing.TB, name string, within time.Duration, sources ...string) string {
	t.Helper()
	Require(t)
	path := filepath.Join(cacheDir(), name+"-"+digestOf(t, sources...)+".qcow2")
	withLock(t, filepath.Join(cacheDir(), name+".lock"), func() {
		if _, err := os.Stat(path); err != nil {
			script(t, within, imageScript(t, sources[0]), path)
		}
	})
	return path
}

func imageScript(t testing.TB, name string) string {
	return filepath.Join(Root(t), "deploy", "images", name)
}

// digestOf names an image by its sources: a changed script makes a new image.
func digestOf(t testing.TB, sources ...string) string {
	t.Helper()
	h := sha256.New()
	for _, s := range sources {
		data, err := os.ReadFile(imageScript(t, s))
		require.NoError(t, err)
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}
