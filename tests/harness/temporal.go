package harness

import (
	"context"
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

// Temporal is a development server with the settings of temporal-dev.yaml on a free port of 127.0.0.1. Killed and
// started again, it is the same server: the same address and database.
type Temporal struct {
	*Process
	// Address is host:port, Namespace the one that Berth uses.
	Address   string
	Namespace string
	// Metrics is the URL of the server's metrics, in Prometheus' text format.
	Metrics string

	settings devserver.Settings
}

// StartTemporal starts a development server for this test.
func StartTemporal(t testing.TB) *Temporal {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(Root(t), "temporal-dev.yaml"))
	require.NoError(t, err)
	settings, err := devserver.ParseSettings(data)
	require.NoError(t, err)
	flags, err := settings.Flags()
	require.NoError(t, err)

	port, metrics := FreePort(t), FreePort(t)
	s := &Temporal{
		Metrics:   "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(metrics)) + "/metrics",
		Address:   net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Namespace: settings.Namespace,
		settings:  settings,
	}
	args := []string{
		"server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", strconv.Itoa(port), "--metrics-port", strconv.Itoa(metrics),
		"--db-filename", filepath.Join(t.TempDir(), "temporal.db"),
	}
	s.Process = Run(t, Command{
		Name: "temporal", Path: Binary(t, "temporal"), Args: append(args, flags...), Ready: s.prepare,
	})
	return s
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
	// A plain connection first: the client's own attempts take seconds when nobody listens yet.
	probe, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Address)
	if err != nil {
		return err
	}
	if err := probe.Close(); err != nil {
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
