package faults

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/tests/harness"
)

// inFlight is how much a server may have sent that a killed agent never read: what socket buffers hold.
const inFlight = 8 << 20

// TestFetchGoesOn lets each fault come in the midst of a fetch.
func TestFetchGoesOn(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	size := int64(64 << 20)
	if full() {
		size = 256 << 20
	}
	for _, happens := range faults {
		t.Run(happens.name, func(t *testing.T) {
			ctx := t.Context()
			path, checksum := randomFile(t, size)
			server := harness.ServeFile(t, path)
			server.Set(harness.Trouble{StallAfter: size / 2})
			w := f.newWork(scenario{name: "fetch", spec: rawSpec, machine: true})
			w.image = served{url: server.URL, checksum: checksum}
			a, err := put(1)(ctx, f, w)
			require.NoError(t, err)
			require.NoError(t, until(ctx, within, func(context.Context) error {
				if sent := server.Served().Bytes; sent < size/2 {
					return fmt.Errorf("only %d bytes are fetched", sent)
				}
				return nil
			}))
			server.Set(harness.Trouble{BytesPerSecond: size / 600}) // the fetch goes on, and is not over before the fault is
			happens.strike(f)
			struck := server.Served()
			require.Less(t, struck.Bytes, size, "the fault came too late")
			server.Set(harness.Trouble{})
			require.NoError(t, w.end(ctx, f, verbs["deploy"], a))
			all := server.Served()
			t.Logf("%d of %d bytes were sent before, %d in all, by %d requests, %d of them for a rest",
				struck.Bytes, size, all.Bytes, all.Requests, all.Ranged)
			if happens.name == faults[0].name {
				require.Positive(t, all.Ranged, "it began anew")
				require.Less(t, all.Bytes, size+inFlight)
			} else {
				require.Equal(t, harness.Served{Requests: 1, Bytes: size}, all, "the fetch goes on without them")
			}
			require.NoError(t, (&tried{work: w}).clear(ctx, f))
		})
	}
}

func rawSpec(_ *fleet, w *work, _ int) string {
	return fmt.Sprintf(`apiVersion: berth/v1
kind: VM
metadata: {name: %s}
spec:
  vcpus: 1
  memory: 32Mi
  stopGracePeriod: 1s
  disks: [{name: root, image: {url: "%s", checksum: "%s", format: raw}}]
`, w.name, w.image.url, w.image.checksum)
}

func randomFile(t *testing.T, size int64) (path, checksum string) {
	t.Helper()
	data := make([]byte, size)
	_, err := rand.Read(data)
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), "image.raw")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	sum := sha256.Sum256(data)
	return path, "sha256:" + hex.EncodeToString(sum[:])
}
