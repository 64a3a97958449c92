package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"go.uber.org/fx"
)

// What a Config that leaves them out gets.
const (
	DefaultWrites   = 16
	DefaultQueue    = 256
	DefaultWatchers = 100
	// DefaultQueueWait and an answer together stay below the half minute that clients wait for an answer. Who waits in the queue
	// is served in turn; who is refused comes back behind all others.
	DefaultQueueWait = 20 * time.Second
)

const (
	defaultWatchBeat = 15 * time.Second
	headerWithin     = 10 * time.Second
	bodyWithin       = 30 * time.Second
	idleWithin       = 2 * time.Minute
)

// Module serves the API. It needs Config, Backend and *slog.Logger.
var Module = fx.Module("rest",
	fx.Provide(NewServer),
	fx.Invoke(func(lc fx.Lifecycle, s *Server) { lc.Append(fx.StartStopHook(s.Start, s.Stop)) }),
)

// Server is the API's listener.
type Server struct {
	http     *http.Server
	cfg      Config
	logger   *slog.Logger
	listener net.Listener
}

// NewServer reads the tokens and certificates. It refuses to serve without tokens on anything but loopback.
func NewServer(cfg Config, backend Backend, logger *slog.Logger) (*Server, error) {
	cfg = cfg.withDefaults()
	closing := make(chan struct{})
	d := Dependencies{Backend: backend, Logger: logger, Closing: closing}
	if cfg.Tokens != "" {
		var err error
		if d.Auth, err = NewAuthenticator(cfg.Tokens, logger); err != nil {
			return nil, err
		}
	} else if !ListensOnLoopback(cfg.Listen) {
		return nil, errors.New("without a tokens file the API listens on loopback only")
	}
	s := &http.Server{
		Handler: NewHandler(cfg, d), ReadHeaderTimeout: headerWithin, ReadTimeout: bodyWithin, IdleTimeout: idleWithin,
		MaxHeaderBytes: 32 << 10, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	s.RegisterOnShutdown(func() { close(closing) })
	if cfg.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(cfg.CertFile, cfg.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("load the API's certificate: %w", err)
		}
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	}
	return &Server{http: s, cfg: cfg, logger: logger}, nil
}

func (c Config) withDefaults() Config {
	if c.Writes == 0 {
		c.Writes = DefaultWrites
	}
	if c.Queue == 0 {
		c.Queue = DefaultQueue
	}
	if c.QueueWait == 0 {
		c.QueueWait = DefaultQueueWait
	}
	if c.Watchers == 0 {
		c.Watchers = DefaultWatchers
	}
	if c.WatchBeat == 0 {
		c.WatchBeat = defaultWatchBeat
	}
	return c
}

// Start listens, and serves in the background.
func (s *Server) Start(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen for the API: %w", err)
	}
	s.listener = l
	if s.http.TLSConfig != nil {
		l = tls.NewListener(l, s.http.TLSConfig)
	}
	s.logger.Info("the API listens", "address", s.Address())
	go func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.logger.Error("the API has stopped serving", "error", err)
		}
	}()
	return nil
}

// Stop lets open requests end, for as long as ctx allows.
func (s *Server) Stop(ctx context.Context) error { return s.http.Shutdown(ctx) }

// Address is where the API listens, once it was started.
func (s *Server) Address() string { return s.listener.Addr().String() }
