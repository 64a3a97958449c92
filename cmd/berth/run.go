package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.uber.org/dig"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"
)

const (
	startWithin = 2 * time.Minute
	stopWithin  = 30 * time.Second
)

// runApp builds, starts and runs an application until ctx ends or a part of it asks for the end, and then stops it.
func runApp(ctx context.Context, logger *slog.Logger, options ...fx.Option) error {
	application := fx.New(append(options,
		fx.Supply(fx.Annotate(ctx, fx.As(new(context.Context))), logger),
		fx.WithLogger(func() fxevent.Logger {
			l := &fxevent.SlogLogger{Logger: logger}
			l.UseLogLevel(slog.LevelDebug)
			l.UseErrorLevel(slog.LevelDebug) // what fails is returned below, and told once
			return l
		}),
		fx.StartTimeout(startWithin), fx.StopTimeout(stopWithin),
	)...)
	if err := application.Err(); err != nil {
		return dig.RootCause(err)
	}
	starting, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if err := application.Start(starting); err != nil {
		return dig.RootCause(err)
	}
	var code int
	select {
	case <-ctx.Done():
	case signal := <-application.Wait():
		code = signal.ExitCode
	}
	stopping, cancelStop := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancelStop()
	if err := application.Stop(stopping); err != nil {
		return fmt.Errorf("stop: %w", dig.RootCause(err))
	}
	if code != 0 {
		return errTold
	}
	return nil
}
