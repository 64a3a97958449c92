package agent

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"go.temporal.io/sdk/client"
	"go.uber.org/fx"
)

// Module runs agents for the life of the application: one, or one for each of many synthetic hosts. It needs a []Config, a
// client.Client (which may be lazy) and a *slog.Logger. An agent that the fleet refuses ends the application with the reason.
var Module = fx.Module("agent",
	fx.Provide(newGroup),
	fx.Invoke(func(lc fx.Lifecycle, down fx.Shutdowner, g group, log *slog.Logger) {
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		lc.Append(fx.Hook{
			OnStart: func(context.Context) error {
				for _, a := range g {
					running.Go(func() {
						if err := a.Run(ctx); err != nil {
							log.Error("the agent ends", "host", a.cfg.Host, "error", err)
							_ = down.Shutdown(fx.ExitCode(1)) // fails only if the application is ending already
						}
					})
				}
				return nil
			},
			OnStop: func(stop context.Context) error {
				cancel()
				done := make(chan struct{})
				go func() { running.Wait(); close(done) }()
				select {
				case <-done:
				case <-stop.Done():
				}
				return g.Close()
			},
		})
	}),
)

// group is the agents of one process.
type group []*Agent

func newGroup(configs []Config, c client.Client, log *slog.Logger) (group, error) {
	var g group
	for _, cfg := range configs {
		a, err := New(cfg, c, log)
		if err != nil {
			return nil, errors.Join(err, g.Close())
		}
		g = append(g, a)
	}
	return g, nil
}

// Close gives up what the agents hold open.
func (g group) Close() error {
	var errs []error
	for _, a := range g {
		errs = append(errs, a.Close())
	}
	return errors.Join(errs...)
}
