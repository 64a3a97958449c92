package seed_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kdomanski/iso9660"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/berth-dev/berth/activities/seed"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// read returns the files of a seed by name, as the library reads them.
func read(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	image, err := iso9660.OpenImage(f)
	require.NoError(t, err)
	label, err := image.Label()
	require.NoError(t, err)
	require.Equal(t, "cidata", strings.TrimSpace(label))
	root, err := image.RootDir()
	require.NoError(t, err)
	children, err := root.GetChildren()
	require.NoError(t, err)
	files := map[string]string{}
	for _, c := range children {
		data, err := io.ReadAll(c.Reader())
		require.NoError(t, err)
		files[c.Name()] = string(data)
	}
	return files
}

func TestWriteAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "seed.iso")
	ci := v1.CloudInit{
		UserData:      "#cloud-config\npassword: hunter2\n" + strings.Repeat("# more\n", 5000),
		MetaData:      "instance-id: own\n",
		NetworkConfig: "version: 2\n",
		VendorData:    strings.Repeat("v", 2048), // a whole sector
	}
	digest, err := seed.Write(t.Context(), path, ci, "unused", "unused")
	require.NoError(t, err)
	require.Regexp(t, "^sha256:[0-9a-f]{64}$", digest)
	want := map[string]string{
		"user-data": ci.UserData, "meta-data": ci.MetaData, "network-config": ci.NetworkConfig, "vendor-data": ci.VendorData,
	}
	require.Equal(t, want, read(t, path))

	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestWriteDefaults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seed.iso")
	_, err := seed.Write(t.Context(), path, v1.CloudInit{}, `web: "1"`, "web")
	require.NoError(t, err)
	files := read(t, path)
	require.Len(t, files, 2)
	require.Empty(t, files["user-data"])
	var meta map[string]string
	require.NoError(t, yaml.Unmarshal([]byte(files["meta-data"]), &meta))
	require.Equal(t, map[string]string{"instance-id": `web: "1"`, "local-hostname": "web"}, meta)
}

func TestWriteIsDeterministicAndReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seed.iso")
	one, err := seed.Write(t.Context(), path, v1.CloudInit{UserData: "a"}, "i", "h")
	require.NoError(t, err)
	again, err := seed.Write(t.Context(), path, v1.CloudInit{UserData: "a"}, "i", "h")
	require.NoError(t, err)
	require.Equal(t, one, again)
	other, err := seed.Write(t.Context(), path, v1.CloudInit{UserData: "b"}, "i", "h")
	require.NoError(t, err)
	require.NotEqual(t, one, other)
	require.Equal(t, "b", read(t, path)["user-data"])
}

// Other readers than the library that made the descriptors have to agree.
func TestOtherReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seed.iso")
	_, err := seed.Write(t.Context(), path, v1.CloudInit{UserData: "#cloud-config\n", NetworkConfig: "version: 2\n"}, "i", "h")
	require.NoError(t, err)

	t.Run("isoinfo", func(t *testing.T) {
		out, err := exec.CommandContext(t.Context(), "isoinfo", "-i", path, "-x", "/user-data;1").CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, "#cloud-config\n", string(out))
	})
	t.Run("blkid", func(t *testing.T) { // cloud-init finds its seed in this way
		out, err := exec.CommandContext(t.Context(), "blkid", "-p", "-o", "export", path).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "LABEL=cidata\n")
		require.Contains(t, string(out), "TYPE=iso9660\n")
	})
}

func TestWriteRefusals(t *testing.T) {
	dir := t.TempDir()
	tests := map[string]struct {
		path   string
		data   string
		reason v1.Reason
	}{
		"relative":     {"seed.iso", "", v1.ReasonInvalid},
		"too much":     {filepath.Join(dir, "a"), strings.Repeat("hunter2\n", 3<<20), v1.ReasonInvalid},
		"no directory": {filepath.Join(dir, "b", "c"), "hunter2", v1.ReasonNotFound},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := seed.Write(t.Context(), tt.path, v1.CloudInit{UserData: tt.data}, "i", "h")
			require.Equal(t, tt.reason, contract.ReasonOf(err), "%v", err)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestWriteOnAFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("this test mounts: run it as root, as make test does")
	}
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=1m", "berth-test", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	_, err = seed.Write(t.Context(), filepath.Join(dir, "seed.iso"), v1.CloudInit{UserData: strings.Repeat("x", 2<<20)}, "i", "h")
	require.Equal(t, v1.ReasonDiskFull, contract.ReasonOf(err), "%v", err)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}
