package guard

import (
	"context"
	"sync"

	"go.uber.org/fx"
)

// Module runs a guard for the life of the application. It needs a Config and a *slog.Logger.
var Module = fx.Module("guard",
	fx.Provide(New),
	fx.Invoke(func(lc fx.Lifecycle, g *Guard) {
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		lc.Append(fx.Hook{
			OnStart: func(context.Context) error {
				running.Go(func() { g.Run(ctx) })
				return nil
			},
			OnStop: func(context.Context) error {
				cancel()
				running.Wait()
				return g.Close()
			},
		})
	}),
)
