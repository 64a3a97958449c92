package devserver

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/berth-dev/berth/workers/temporal"
)

const sample = `
namespace: berth
retention: 72h
sqlitePragmas: {journal_mode: WAL, synchronous: NORMAL}
dynamicConfig: {history.transferProcessorMaxPollRPS: 2000, matching.useNewMatcher: true}
searchAttributes: {BerthWorkload: Keyword}
logLevel: warn
`

func TestTheEnvironmentOfTheServer(t *testing.T) {
	s := Settings{Environment: map[string]string{"GOGC": "200", "A": "b"}}
	require.Equal(t, []string{"A=b", "GOGC=200", "HOME=/"}, s.Env([]string{"HOME=/", "TEMPORAL_ADDRESS=elsewhere"}))
	require.Equal(t, []string{"A=b", "GOGC=200", "GOGC=50"}, s.Env([]string{"GOGC=50"}), "the later one counts")
}

func TestParseSettings(t *testing.T) {
	s, err := ParseSettings([]byte(sample))
	require.NoError(t, err)
	flags, err := s.Flags()
	require.NoError(t, err)
	require.Equal(t, []string{
		"--namespace", "berth", "--log-level", "warn",
		"--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=NORMAL",
		"--dynamic-config-value", "history.transferProcessorMaxPollRPS=2000",
		"--dynamic-config-value", "matching.useNewMatcher=true",
		"--search-attribute", "BerthWorkload=Keyword",
	}, flags)
	_, err = ParseSettings([]byte("retentoin: 1h"))
	require.ErrorContains(t, err, "retentoin")
}

// freePorts returns two ports that were free a moment ago.
func freePorts(t *testing.T) (int, int) {
	t.Helper()
	var ports [2]int
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports[0], ports[1]
}

func TestCheckPortNamesThePort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	err = CheckPort("127.0.0.1", port, "Temporal")
	require.ErrorContains(t, err, "wanted for Temporal")
	require.ErrorContains(t, err, l.Addr().String())
}

// A whole life: start on a new database, settings in place, killed and back by itself with its data, stopped, and
// started again on the old database.
func TestServerLife(t *testing.T) {
	bin, err := FindBinary(filepath.Join("..", "..", "bin", "temporal"))
	require.NoError(t, err, "the Temporal CLI is built by `make tools`")
	settings, err := ParseSettings([]byte(sample))
	require.NoError(t, err)
	port, ui := freePorts(t)
	logger := slog.New(slog.DiscardHandler)
	cfg := Config{Settings: settings, Binary: bin, DataDir: t.TempDir(), IP: "127.0.0.1", Port: port, UIPort: ui, Logger: logger}

	s, err := Start(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { s.Stop() })
	requireNamespace(t, s)

	first := s.PID()
	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
	require.Eventually(t, func() bool { pid := s.PID(); return pid != 0 && pid != first }, 2*time.Minute, 20*time.Millisecond)
	require.Eventually(t, func() bool { return s.prepare(t.Context()) == nil }, 2*time.Minute, 50*time.Millisecond)
	requireNamespace(t, s)

	s.Stop()
	s, err = Start(t.Context(), cfg)
	require.NoError(t, err)
	requireNamespace(t, s)
	s.Stop()
}

func requireNamespace(t *testing.T, s *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	conn, err := temporal.Dial(ctx, temporal.Options{Bare: true, Address: s.Address(), Namespace: s.Namespace()}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer conn.Client.Close()
	missing, err := temporal.MissingSearchAttributes(ctx, conn.Client, conn.Namespace)
	require.NoError(t, err)
	require.Empty(t, missing)
	ns, err := conn.Client.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: conn.Namespace})
	require.NoError(t, err)
	require.Equal(t, 72*time.Hour, ns.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration())
	require.ErrorContains(t, temporal.CheckNamespace(ctx, conn.Client, "absent"), `"absent" does not exist`)
}
