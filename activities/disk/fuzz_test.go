package disk

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParseQCOW2 looks for headers that break the parser or that pass with sizes beyond the limits.
func FuzzParseQCOW2(f *testing.F) {
	for _, options := range []string{"compat=1.1", "compat=0.10", "extended_l2=on,cluster_size=16k", "compression_type=zstd"} {
		path := filepath.Join(f.TempDir(), "seed.qcow2")
		out, err := exec.Command("qemu-img", "create", "-q", "-f", "qcow2", "-o", options, path, "64M").CombinedOutput()
		require.NoError(f, err, "%s", out)
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(data[:1024], int64(len(data)))
	}
	f.Fuzz(func(t *testing.T, data []byte, size int64) {
		if size < 0 {
			return
		}
		q, err := parseQCOW2(bytes.NewReader(data), size)
		if err != nil {
			return
		}
		require.True(t, bytes.HasPrefix(data, qcow2Magic))
		require.LessOrEqual(t, q.Size, uint64(MaxVirtualSize))
		require.LessOrEqual(t, int64(q.L1Size)*8, int64(maxL1Bytes))
		require.LessOrEqual(t, len(q.backing), maxBackingNameLen)
		if q.L1Size > 0 {
			require.LessOrEqual(t, int64(q.L1Offset), size)
		}
		if q.refusal(false) == "" {
			require.Zero(t, q.BackingOffset)
			require.False(t, q.dataFile)
			require.Zero(t, q.Incompatible&incompatDataFile)
		}
	})
}
