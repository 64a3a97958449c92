package devserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/berth-dev/berth/workers/temporal"
)

const (
	readyWithin = 60 * time.Second
	stopWithin  = 10 * time.Second
)

// Config says how a development server is run.
type Config struct {
	Settings Settings
	// Binary is the path of the temporal CLI (see FindBinary).
	Binary string
	// DataDir holds the database and the log.
	DataDir string
	// IP, Port and UIPort are where it listens.
	IP     string
	Port   int
	UIPort int
	Logger *slog.Logger
}

// Server is a running development server.
type Server struct {
	cfg   Config
	child *Child
}

// FindBinary returns the temporal CLI: the given path, else the one beside our own executable, else the one in PATH.
func FindBinary(explicit string) (string, error) {
	if explicit != "" {
		path, err := exec.LookPath(explicit)
		if err != nil {
			return "", fmt.Errorf("the Temporal CLI %s cannot be run: %w", explicit, err)
		}
		return path, nil
	}
	if self, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), "temporal")); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath("temporal")
	if err != nil {
		return "", errors.New("there is no Temporal CLI beside berth and none in PATH: build it with `make tools`, or name it with --temporal-bin")
	}
	return path, nil
}

// Start checks the ports, starts the server and waits until its namespace, retention and search attributes are in
// place.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	s := &Server{cfg: cfg}
	if err := errors.Join(CheckPort(cfg.IP, cfg.Port, "Temporal"), CheckPort(cfg.IP, cfg.UIPort, "the Temporal Web UI")); err != nil {
		return nil, err
	}
	flags, err := cfg.Settings.Flags()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.DataDir, 0o750); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	command := append([]string{
		cfg.Binary, "server", "start-dev", "--ip", cfg.IP, "--port", strconv.Itoa(cfg.Port),
		"--ui-port", strconv.Itoa(cfg.UIPort), "--db-filename", filepath.Join(cfg.DataDir, "temporal.db"),
	}, flags...)
	s.child = &Child{
		Name: "temporal", Command: command, Env: cfg.Settings.Env(os.Environ()),
		Log: filepath.Join(cfg.DataDir, "temporal.log"), Check: s.prepare,
		ReadyWithin: readyWithin, StopWithin: stopWithin, Logger: cfg.Logger,
	}
	if err := s.child.Start(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Stop ends the server.
func (s *Server) Stop() { s.child.Stop() }

// PID is the process id of the server, or zero while it is restarted.
func (s *Server) PID() int { return s.child.PID() }

// Address is where clients connect.
func (s *Server) Address() string { return net.JoinHostPort(s.cfg.IP, strconv.Itoa(s.cfg.Port)) }

// UI is the address of the Web UI.
func (s *Server) UI() string {
	return "http://" + net.JoinHostPort(s.cfg.IP, strconv.Itoa(s.cfg.UIPort))
}

// Namespace is the namespace that Berth uses.
func (s *Server) Namespace() string { return s.cfg.Settings.Namespace }

// prepare reports whether the server answers, and brings its namespace up to the settings: the flags of start-dev have
// no effect on a namespace that exists already.
func (s *Server) prepare(ctx context.Context) error {
	// A plain connection first: the Temporal client waits for seconds when nobody listens yet.
	probe, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Address())
	if err != nil {
		return err
	}
	if err := probe.Close(); err != nil {
		return err
	}
	conn, err := temporal.Dial(ctx, temporal.Options{Bare: true, Address: s.Address(), Namespace: s.Namespace()}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer conn.Client.Close()
	if err := temporal.CheckNamespace(ctx, conn.Client, conn.Namespace); err != nil {
		return err
	}
	if err := temporal.EnsureRetention(ctx, conn.Client, conn.Namespace, s.cfg.Settings.Retention.D()); err != nil {
		return err
	}
	return temporal.EnsureSearchAttributes(ctx, conn.Client, conn.Namespace)
}

// CheckPort fails if somebody listens on the port already; the error names the port and what wanted it.
func CheckPort(ip string, port int, what string) error {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort(ip, strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("port %d, wanted for %s, cannot be used: %w", port, what, err)
	}
	return l.Close()
}
