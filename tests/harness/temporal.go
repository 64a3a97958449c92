package harness

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/berth-dev/berth/workers/devserver"
	"github.com/berth-dev/berth/workers/temporal"
)

// temporalOn is the environment variable that says where Temporal keeps its state: "postgres", in databases of the cluster
// that libpq's variables name (see tools/postgres), or else a file.
const temporalOn = "BERTH_TEST_TEMPORAL"

// Temporal is a server with the settings of temporal-dev.yaml on a free port of 127.0.0.1: a development server, or one as in
// production on PostgreSQL. Killed and started again, it is the same server: the same address and database.
type Temporal struct {
	*Process
	// Address is host:port, Namespace the one that Berth uses.
	Address   string
	Namespace string
	// Metrics is the URL of the server's metrics, in Prometheus' text format.
	Metrics string

	settings devserver.Settings
	// empty makes the database empty. The server does not run meanwhile.
	empty func()
	// backup copies the database, and returns what puts the copy back. The server runs during neither.
	backup func() (restore func())
}

// StartTemporal starts a server for this test. A development server keeps its database in the directory.
func StartTemporal(t testing.TB, dir string) *Temporal {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(Root(t), "temporal-dev.yaml"))
	require.NoError(t, err)
	settings, err := devserver.ParseSettings(data)
	require.NoError(t, err)
	port, metrics := FreePort(t), FreePort(t)
	s := &Temporal{
		Metrics:   "http://" + address(metrics) + "/metrics",
		Address:   address(port),
		Namespace: settings.Namespace,
		settings:  settings,
	}
	var command Command
	if os.Getenv(temporalOn) == "postgres" {
		command = s.onPostgres(t, port, metrics)
	} else {
		command = s.devServer(t, dir, port, metrics)
	}
	s.Process = Run(t, command)
	return s
}

// devServer is a development server, with a database in a file.
func (s *Temporal) devServer(t testing.TB, dir string, port, metrics int) Command {
	t.Helper()
	flags, err := s.settings.Flags()
	require.NoError(t, err)
	db := filepath.Join(dir, "temporal.db")
	files := []string{db, db + "-shm", db + "-wal"}
	s.empty = func() {
		for _, path := range files {
			if err := os.Remove(path); err != nil {
				require.ErrorIs(t, err, fs.ErrNotExist)
			}
		}
	}
	s.backup = func() func() {
		copies := map[string][]byte{}
		for _, path := range files {
			data, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			require.NoError(t, err)
			copies[path] = data
		}
		return func() {
			s.empty()
			for path, data := range copies {
				require.NoError(t, os.WriteFile(path, data, 0o600))
			}
		}
	}
	args := []string{
		"server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", strconv.Itoa(port), "--metrics-port", strconv.Itoa(metrics),
		"--db-filename", db,
	}
	return Command{Name: "temporal", Path: Binary(t, "temporal"), Args: append(args, flags...), Env: s.settings.Env(nil), Ready: s.prepare}
}

// Empty kills the server and starts it with an empty database, at the same address.
func (s *Temporal) Empty() {
	s.t.Helper()
	s.Kill()
	s.empty()
	s.Start()
}

// Backup stops the server, copies its database and starts it again. What it returns puts the copy back in the same way: what
// happened since is forgotten.
func (s *Temporal) Backup() (restore func()) {
	s.t.Helper()
	s.Stop()
	putBack := s.backup()
	s.Start()
	return func() {
		s.t.Helper()
		s.Stop()
		putBack()
		s.Start()
	}
}

// Client connects to the server; the connection closes with the test.
func (s *Temporal) Client() client.Client {
	s.t.Helper()
	c, err := s.dial(s.t.Context())
	require.NoError(s.t, err)
	s.t.Cleanup(c.Close)
	return c
}

// CLI runs the temporal CLI against the server, and returns what it printed.
func (s *Temporal) CLI(args ...string) string {
	s.t.Helper()
	args = append(args, "--address", s.Address, "--namespace", s.Namespace, "--disable-config-env", "--disable-config-file")
	return output(s.t, Binary(s.t, "temporal"), args...)
}

// reachable fails while nobody listens: the client's own attempts take seconds then.
func (s *Temporal) reachable(ctx context.Context) error {
	probe, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Address)
	if err != nil {
		return err
	}
	return probe.Close()
}

func (s *Temporal) dial(ctx context.Context) (client.Client, error) {
	conn, err := temporal.Dial(ctx, temporal.Options{Bare: true, Address: s.Address, Namespace: s.Namespace},
		slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return conn.Client, nil
}

// prepare does what `berth dev` does once the server answers: retention and search attributes. It fails while the
// server does not answer.
func (s *Temporal) prepare(ctx context.Context) error {
	if err := s.reachable(ctx); err != nil {
		return err
	}
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := temporal.CheckNamespace(ctx, c, s.Namespace); err != nil {
		return err
	}
	if err := temporal.EnsureRetention(ctx, c, s.Namespace, s.settings.Retention.D()); err != nil {
		return err
	}
	return temporal.EnsureSearchAttributes(ctx, c, s.Namespace)
}
