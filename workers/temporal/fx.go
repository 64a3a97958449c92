package temporal

import (
	"context"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.uber.org/fx"
)

// Module provides *Conn, its client.Client and its converter.DataConverter. It needs Options and *slog.Logger.
var Module = fx.Module("temporal",
	fx.Provide(
		connect,
		func(c *Conn) client.Client { return c.Client },
		func(c *Conn) converter.DataConverter { return c.Data },
	),
)

// connect dials while the graph is built, as everything behind it needs a live connection to be built at all. The
// connection is closed last, after all that uses it has stopped.
func connect(ctx context.Context, lc fx.Lifecycle, o Options, logger *slog.Logger) (*Conn, error) {
	conn, err := Dial(ctx, o, logger)
	if err != nil {
		return nil, err
	}
	lc.Append(fx.StopHook(conn.Client.Close))
	return conn, nil
}
