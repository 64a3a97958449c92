package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
)

// lookEvery is how often a wait looks. A look is one Describe for the server, or two.
const lookEvery = 300 * time.Millisecond

// waiting are the flags --wait and --timeout.
type waiting struct {
	wait    bool
	timeout time.Duration
}

func (w *waiting) define(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.wait, "wait", false, "wait for the effect and show progress; fail if it fails")
	durationVar(cmd.Flags(), &w.timeout, "timeout", 10*time.Minute, "how long to wait")
}

// all waits until every goal is reached. It fails when one cannot be reached, or at the timeout, with the reason on one
// line for each.
func (w *waiting) all(ctx context.Context, a *app, c *client.Client, goals []goal) error {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	screen := newScreen(a.err)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	last := map[string]v1.View{}
	var failures []error
	for open := goals; ; {
		var still []goal
		var views []v1.View
		for _, g := range open {
			view, err := c.Get(ctx, g.name)
			if ctx.Err() != nil {
				still = append(still, g)
				continue
			}
			reached, failure := g.verdict(view, err)
			switch {
			case failure != nil:
				failures = append(failures, failure)
			case reached:
				screen.done(g, view)
			default:
				still, last[g.name] = append(still, g), view
				views = append(views, view)
			}
		}
		screen.show(views)
		open = still
		if len(open) == 0 {
			screen.close()
			return errors.Join(failures...)
		}
		select {
		case <-ctx.Done():
			screen.close()
			return errors.Join(append(failures, w.late(ctx, open, last)...)...)
		case <-tick.C:
		}
	}
}

// late says of each goal that is still open where it stands.
func (w *waiting) late(ctx context.Context, open []goal, last map[string]v1.View) []error {
	why := "interrupted"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		why = fmt.Sprintf("not done within %s", w.timeout)
	}
	errs := make([]error, len(open))
	for i, g := range open {
		view, seen := last[g.name]
		if !seen {
			errs[i] = fmt.Errorf("%s: %s", g.name, why)
			continue
		}
		errs[i] = fmt.Errorf("%s: %s: still %s", g.name, why, explain(view.Status))
	}
	return errs
}
