package backend

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/workers/devserver"
	"github.com/berth-dev/berth/workers/temporal"
)

// dial connects with encryption: whatever the API reads must come through it.
func dial(t *testing.T, server *devserver.Server, key temporal.Key) *temporal.Conn {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(file, []byte(key.Line()), 0o600))
	conn, err := temporal.Dial(t.Context(), temporal.Options{
		Bare: true, Address: server.Address(), Namespace: server.Namespace(), KeyFile: file,
	}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(conn.Client.Close)
	return conn
}
