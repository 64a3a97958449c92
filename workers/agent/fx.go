package agent

import (
	"context"
	"log/slog"

	"go.uber.org/fx"
)

// Module runs the agent for the life of the application. It needs a Config, a client.Client (which may be lazy) and a
// *slog.Logger. An agent that the fleet refuses ends the application with the reason.
var Module = fx.Module("agent",
	fx.Provide(New),
	fx.Invoke(func(lc fx.Lifecycle, down fx.Shutdowner, a *Agent, log *slog.Logger) {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		lc.Append(fx.Hook{
			OnStart: func(context.Context) error {
				go func() {
					defer close(done)
					if err := a.Run(ctx); err != nil {
						log.Error("the agent ends", "error", err)
						_ = down.Shutdown(fx.ExitCode(1)) // fails only if the application is ending already
					}
				}()
				return nil
			},
			OnStop: func(stop context.Context) error {
				cancel()
				select {
				case <-done:
				case <-stop.Done():
				}
				return a.Close()
			},
		})
	}),
)
