package main

import (
	"context"
	"fmt"
	"net"
	"net/url"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.uber.org/fx"

	"github.com/berth-dev/berth/api/rest"
	"github.com/berth-dev/berth/api/rest/backend"
	"github.com/berth-dev/berth/workers/config"
	"github.com/berth-dev/berth/workers/control"
	"github.com/berth-dev/berth/workers/temporal"
)

// serverSettings are the settings of `berth server`.
type serverSettings struct {
	temporal temporalSettings
	log      logSettings
	timings  timingSettings
	rest     rest.Config
	fleet    string
	webUI    string
	insecure bool
	plain    bool
}

func serverCommand(a *app) *cobra.Command {
	var s serverSettings
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Serve the API and run the control worker",
		Long: "Serve the API and run the control worker. Any number of servers may run: all state is in Temporal.\n" +
			"Without a tokens file it starts only with --insecure-dev, and listens on loopback only; without a key file only\n" +
			"with --plaintext-history, as secrets of workloads would be readable in Temporal.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context(), a) },
	}
	a.settings(cmd, s.temporal.define, s.log.define, s.timings.define, s.define)
	return cmd
}

func (s *serverSettings) define(f *pflag.FlagSet) {
	f.StringVar(&s.rest.Listen, "listen", "127.0.0.1:8080", "address of the API")
	f.StringVar(&s.rest.Tokens, "tokens", "", "file of token hashes, made by 'berth token new'; read again when it changes")
	f.StringVar(&s.rest.CertFile, "tls-cert", "", "certificate of the API")
	f.StringVar(&s.rest.KeyFile, "tls-key", "", "key of the certificate")
	f.IntVar(&s.rest.Writes, "max-writes", rest.DefaultWrites, "changes that are worked on at once; a burst beyond max-queue is answered 429")
	f.IntVar(&s.rest.Queue, "max-queue", rest.DefaultQueue, fmt.Sprint("changes that may wait for that, in turn, for at most ", rest.DefaultQueueWait))
	f.IntVar(&s.rest.Watchers, "max-watchers", rest.DefaultWatchers, "clients that may watch events at once; one more is answered 429")
	f.StringVar(&s.fleet, "fleet", "berth", "id of the installation")
	f.StringVar(&s.webUI, "temporal-ui", "", "address of Temporal's Web UI, for links to it, as https://temporal.example.org")
	f.BoolVar(&s.insecure, "insecure-dev", false, "ask nobody for a token, and listen on loopback only")
	f.BoolVar(&s.plain, "plaintext-history", false, "leave what goes to Temporal readable")
}

func (s *serverSettings) check(m *config.Mistakes) {
	s.timings.check(m)
	_, _, err := net.SplitHostPort(s.rest.Listen)
	m.Check("listen", err)
	ui, err := url.Parse(s.webUI)
	m.Check("temporal-ui", err)
	m.Require(err != nil || s.webUI == "" || (ui.Scheme == "http" || ui.Scheme == "https") && ui.Host != "", "temporal-ui", "must be a URL as https://temporal.example.org")
	m.Require(!s.insecure || rest.ListensOnLoopback(s.rest.Listen), "listen", "with --insecure-dev it must be on loopback, as 127.0.0.1:8080")
	m.Require(s.insecure != (s.rest.Tokens != ""), "tokens", "either a tokens file or --insecure-dev is needed, and not both")
	m.Require((s.rest.CertFile == "") == (s.rest.KeyFile == ""), "tls-cert", "certificate and key belong together")
	m.Require(s.plain != (s.temporal.KeyFile != ""), "key-file", "either a key file or --plaintext-history is needed, and not both")
	m.Require(s.rest.Writes > 0, "max-writes", "must be at least 1")
	m.Require(s.rest.Queue > 0, "max-queue", "must be at least 1")
	m.Require(s.rest.Watchers > 0, "max-watchers", "must be at least 1")
	if s.rest.Tokens != "" {
		_, err := rest.ReadTokens(s.rest.Tokens)
		m.Check("tokens", err)
	}
	if s.temporal.KeyFile != "" {
		_, err := temporal.LoadKeys(s.temporal.KeyFile)
		m.Check("key-file", err)
	}
}

func (s *serverSettings) run(ctx context.Context, a *app) error {
	var m config.Mistakes
	logger := s.log.logger(a.err, &m).With("fleet", s.fleet)
	s.check(&m)
	if err := m.Err(); err != nil {
		return err
	}
	if s.plain {
		logger.Warn("histories are in plain text: whoever reads Temporal reads the secrets of workloads")
	}
	s.temporal.Wait = connectPatience
	return runApp(ctx, logger,
		fx.Supply(s.temporal.Options, s.rest),
		temporal.Module,
		fx.Module("prepare", fx.Invoke(func(lc fx.Lifecycle, conn *temporal.Conn) {
			lc.Append(fx.StartHook(func(ctx context.Context) error {
				if err := prepareNamespace(ctx, conn); err != nil {
					return err
				}
				return backend.EnsureSweepSchedule(ctx, conn.Client)
			}))
		})),
		control.Module,
		fx.Provide(func(c client.Client, data converter.DataConverter, conn *temporal.Conn) backend.Config {
			return backend.Config{
				Client: c, Data: data, Fleet: s.fleet, Namespace: conn.Namespace, WebUI: s.webUI, Timings: s.timings.Timings, Logger: logger,
				Extra: namespaceChecks(conn),
			}
		}),
		backend.Module,
		rest.Module,
	)
}
