package image

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestDownloads(t *testing.T) {
	c, err := Open(t.TempDir(), Options{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	store, err := record.Open(t.TempDir(), "f", "h1")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	runner := step.NewRunner(store, slog.New(slog.DiscardHandler))
	discard := func(o contract.Orphan) string {
		kept, err := runner.Discard(t.Context(), o, func(ctx context.Context, call *step.Call) (string, error) { return c.Discard(ctx, call, o) })
		require.NoError(t, err)
		return kept
	}
	hourAgo := time.Now().Add(-time.Hour)
	for _, name := range []string{"old", "flying"} {
		path := filepath.Join(c.dir, partialDir, name)
		for _, p := range []string{path, path + stateSuffix} {
			require.NoError(t, os.WriteFile(p, []byte("12345"), 0o600))
			require.NoError(t, os.Chtimes(p, hourAgo, hourAgo))
		}
	}
	c.flights["flying"] = &flight{}
	t.Cleanup(func() { delete(c.flights, "flying") })

	all, err := c.Inventory(t.Context(), contract.ThingDownload)
	require.NoError(t, err)
	require.Len(t, all, 2)
	byName := map[string]contract.Thing{}
	for _, d := range all {
		require.Empty(t, d.Workload)
		require.Equal(t, int64(5), d.Size)
		require.InDelta(t, time.Hour, d.Age, float64(time.Minute))
		byName[d.Name] = d
	}
	require.True(t, byName["flying"].InUse)
	require.False(t, byName["old"].InUse)

	require.Contains(t, discard(contract.Orphan{Thing: byName["flying"]}), "in use")
	require.Contains(t, discard(contract.Orphan{Thing: byName["old"], Grace: 2 * time.Hour}), "younger")
	require.Empty(t, discard(contract.Orphan{Thing: byName["old"], Grace: time.Minute}))
	require.NoFileExists(t, filepath.Join(c.dir, partialDir, "old"))
	require.NoFileExists(t, filepath.Join(c.dir, partialDir, "old"+stateSuffix))
	require.FileExists(t, filepath.Join(c.dir, partialDir, "flying"))
	require.Empty(t, discard(contract.Orphan{Thing: byName["old"]}), "what is gone is gone")
	require.Empty(t, discard(contract.Orphan{Thing: contract.Thing{Kind: contract.ThingDownload, Name: "../../escape"}}))
}
