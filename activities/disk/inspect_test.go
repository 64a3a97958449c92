package disk_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/disk"
	v1 "github.com/berth-dev/berth/api/v1"
)

func TestInspectAcceptsWhatQEMUMakes(t *testing.T) {
	tests := map[string]struct {
		args []string
		size int64
	}{
		"default":        {[]string{"-f", "qcow2", "", "1G"}, 1 << 30},
		"version 2":      {[]string{"-f", "qcow2", "-o", "compat=0.10", "", "10M"}, 10 << 20},
		"large":          {[]string{"-f", "qcow2", "", "40T"}, 40 << 40},
		"small clusters": {[]string{"-f", "qcow2", "-o", "cluster_size=512", "", "1G"}, 1 << 30},
		"large clusters": {[]string{"-f", "qcow2", "-o", "cluster_size=2M", "", "1T"}, 1 << 40},
		"extended L2":    {[]string{"-f", "qcow2", "-o", "extended_l2=on", "", "100G"}, 100 << 30},
		"zstd":           {[]string{"-f", "qcow2", "-o", "compression_type=zstd", "", "5G"}, 5 << 30},
		"lazy refcounts": {[]string{"-f", "qcow2", "-o", "lazy_refcounts=on,preallocation=metadata", "", "1G"}, 1 << 30},
		"odd size":       {[]string{"-f", "qcow2", "", "12345344"}, 12345344},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.qcow2")
			tt.args[len(tt.args)-2] = path
			qemuCreate(t, tt.args...)
			info, err := disk.InspectAs(path, v1.FormatQCOW2)
			require.NoError(t, err)
			require.Equal(t, v1.FormatQCOW2, info.Format)
			require.Equal(t, tt.size, info.VirtualSize)
			require.Positive(t, info.Allocated)
		})
	}
}

func TestInspectAcceptsSnapshotsAndResizes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.qcow2")
	qemuCreate(t, "-f", "qcow2", path, "1G")
	run(t, "qemu-img", "snapshot", "-c", "one", path)
	run(t, "qemu-img", "resize", "-q", "-f", "qcow2", path, "30T")
	info, err := disk.Inspect(path)
	require.NoError(t, err)
	require.Equal(t, int64(30)<<40, info.VirtualSize)
}

func TestInspectRaw(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.raw")
	require.NoError(t, os.WriteFile(path, make([]byte, 4096), 0o600))
	info, err := disk.InspectAs(path, v1.FormatRaw)
	require.NoError(t, err)
	require.Equal(t, int64(4096), info.VirtualSize)

	_, err = disk.InspectAs(path, v1.FormatQCOW2)
	requireReason(t, err, v1.ReasonImageInvalid, true)
}

func TestInspectRefusesWhatReachesFurther(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("secret"), make([]byte, 1<<20), 0o600))

	qemuCreate(t, "-f", "qcow2", "-b", at("secret"), "-F", "raw", at("backing"))
	qemuCreate(t, "-f", "qcow2", "-o", "compat=0.10", "-b", at("secret"), "-F", "raw", at("backing-v2"))
	qemuCreate(t, "-f", "qcow2", "-o", "data_file="+at("data")+",data_file_raw=on", at("external"), "1M")
	qemuCreate(t, "-f", "qcow2", "-o", "data_file="+at("data"), at("hidden"), "1M")
	patch(t, at("hidden"), 79, 0) // the feature bit is gone, the extension that names the file is not
	// The header's encryption method, LUKS: qemu-img itself can't make one where the processor's time is counted in ticks.
	qemuCreate(t, "-f", "qcow2", at("luks"), "1M")
	patch(t, at("luks"), 35, 2)

	for _, name := range []string{"backing", "backing-v2", "external", "hidden", "luks"} {
		t.Run(name, func(t *testing.T) {
			_, err := disk.Inspect(at(name))
			requireReason(t, err, v1.ReasonImageInvalid, true)
		})
	}
}

func TestInspectRefusesDamage(t *testing.T) {
	tests := map[string]struct {
		offset int64
		data   []byte
	}{
		"version":              {4, []byte{0, 0, 0, 9}},
		"cluster bits":         {20, []byte{0, 0, 0, 40}},
		"cluster bits of zero": {20, []byte{0, 0, 0, 0}},
		"absurd size":          {24, []byte{0x7f, 0xff}},
		"size of zero":         {24, make([]byte, 8)},
		"huge L1":              {36, []byte{0xff, 0xff, 0xff, 0xff}},
		"short L1":             {36, []byte{0, 0, 0, 0}},
		"L1 beyond the end":    {40, []byte{0x00, 0xff}},
		"L1 overflow":          {40, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0}},
		"huge refcount table":  {56, []byte{0xff, 0xff, 0xff, 0xff}},
		"snapshots":            {60, []byte{0xff}},
		"unknown feature":      {72, []byte{0x80}},
		"marked corrupt":       {79, []byte{2}},
		"refcount order":       {96, []byte{0, 0, 0, 9}},
		"header too short":     {100, []byte{0, 0, 0, 8}},
		"header too long":      {100, []byte{0x7f, 0, 0, 0}},
		"compression type":     {104, []byte{7}},
		"endless extension":    {116, []byte{0xff, 0xff, 0xff, 0xff}},
		"backing far away":     {8, []byte{0x7f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.qcow2")
			qemuCreate(t, "-f", "qcow2", path, "1G")
			_, err := disk.Inspect(path)
			require.NoError(t, err)
			patch(t, path, tt.offset, tt.data...)
			_, err = disk.Inspect(path)
			requireReason(t, err, v1.ReasonImageInvalid, true)
		})
	}
}

func TestInspectRefusesACutOffFile(t *testing.T) {
	for _, size := range []int64{200, 100_000, 3 * 65536} { // the L1 table is the fourth cluster
		path := filepath.Join(t.TempDir(), "a.qcow2")
		qemuCreate(t, "-f", "qcow2", path, "1G")
		require.NoError(t, os.Truncate(path, size))
		_, err := disk.Inspect(path)
		requireReason(t, err, v1.ReasonImageInvalid, true)
	}
}

func TestInspectRefusesOddFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("plain"), []byte("x"), 0o600))
	require.NoError(t, os.Symlink(at("plain"), at("link")))
	require.NoError(t, syscall.Mkfifo(at("fifo"), 0o600))
	require.NoError(t, os.WriteFile(at("empty"), nil, 0o600))

	tests := map[string]v1.Reason{
		at("link"): v1.ReasonPolicyDenied, at("fifo"): v1.ReasonPolicyDenied, dir: v1.ReasonPolicyDenied,
		"/dev/zero": v1.ReasonPolicyDenied, at("empty"): v1.ReasonImageInvalid, at("absent"): v1.ReasonNotFound,
		"plain": v1.ReasonInvalid, "nbd:localhost:1": v1.ReasonInvalid, dir + "/../x": v1.ReasonInvalid,
	}
	for path, reason := range tests {
		t.Run(path, func(t *testing.T) {
			_, err := disk.Inspect(path)
			requireReason(t, err, reason, true)
		})
	}
}
