package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
)

// drainCommand empties hosts, and waits for that if it is asked to.
func drainCommand(a *app) *cobra.Command {
	var request v1.DrainRequest
	var wait bool
	var timeout, deadline time.Duration
	cmd := hostCommandThen(a, "drain HOST...", "Empty hosts: what runs there moves to others, and nothing new comes",
		func(ctx context.Context, c *client.Client, host string) (v1.Host, error) {
			return c.Drain(ctx, host, request)
		}, hostsTable,
		func(ctx context.Context, c *client.Client, hosts []string) error {
			if !wait {
				return nil
			}
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			return awaitDrained(ctx, a, c, hosts)
		})
	cmd.Long = "Keep new work away from hosts and move what runs there to others, a few workloads at a time: a replacement is well\n" +
		"before the old copy is removed. What has its data on the host, and attempts of jobs, run on until the deadline, and\n" +
		"for ever without one. `berth uncordon` ends a drain; what was stopped for it starts again then."
	durationVar(cmd.Flags(), &deadline, "deadline", 0, "stop what cannot move after this time (default: never)")
	cmd.Flags().BoolVar(&request.Force, "force", false, "stop at once what cannot move")
	cmd.Flags().IntVar(&request.MaxParallel, "max-parallel", v1.DefaultDrainParallel, "how many workloads move at a time")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until nothing runs there, and show progress")
	durationVar(cmd.Flags(), &timeout, "timeout", time.Hour, "how long to wait; the drain goes on after that")
	cmd.MarkFlagsMutuallyExclusive("deadline", "force")
	checkFirst(cmd, func(set func(string) bool) error {
		request.Deadline = v1.Duration(deadline)
		switch {
		case set("deadline") && deadline <= 0:
			return errors.New("--deadline must be more than nothing: --force stops at once what cannot move")
		case request.MaxParallel < 1:
			return fmt.Errorf("--max-parallel must be from 1 to %d", v1.MaxDrainParallel)
		}
		return request.Validate()
	})
	return cmd
}

// awaitDrained follows drains until nothing runs on the hosts any more.
func awaitDrained(ctx context.Context, a *app, c *client.Client, names []string) error {
	screen := newScreen(a.err)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	seen := map[string][]string{}
	for {
		var left []string
		for _, name := range names {
			host, err := c.Host(ctx, name)
			switch {
			case ctx.Err() != nil && len(seen[name]) > 0:
				left = append(left, seen[name]...)
			case ctx.Err() != nil:
				left = append(left, name+": not seen in time")
			case err != nil:
				return fmt.Errorf("%s: %w", name, err)
			case host.Drain == nil:
				return fmt.Errorf("%s: its drain was ended by an uncordon", name)
			case host.Drain.EndedAt != nil:
				delete(seen, name)
				screen.tell(name, "drained: "+drainText(host.Drain))
			default:
				screen.tell(name, drainText(host.Drain))
				seen[name] = tellDrained(screen, host)
				left = append(left, seen[name]...)
			}
		}
		if len(left) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("not drained yet; the drain goes on:\n  " + strings.Join(left, "\n  "))
		case <-tick.C:
		}
	}
}

// tellDrained tells where those that are left stand, and returns the same.
func tellDrained(screen *screen, host v1.Host) []string {
	left := []string{}
	for _, w := range host.Drain.Workloads {
		if w.Standing == "" || w.Standing == v1.DrainStopped {
			continue
		}
		text := string(w.Standing)
		if w.Message != "" {
			text += ": " + oneLine(w.Message)
		}
		screen.tell(host.Name+"/"+w.Name, text)
		left = append(left, fmt.Sprintf("%s/%s: %s", host.Name, w.Name, text))
	}
	if len(left) == 0 {
		left = append(left, fmt.Sprintf("%s: %s", host.Name, drainText(host.Drain)))
	}
	return left
}

// drainText says how far a drain has got.
func drainText(d *v1.Drain) string {
	text := fmt.Sprintf("%d gone, %d left", d.Gone, d.Left)
	if d.Stopped > 0 {
		text += fmt.Sprintf(", %d of them stopped", d.Stopped)
	}
	if d.StopAt != nil && d.EndedAt == nil {
		text += ", stops what is left at " + d.StopAt.Local().Format(time.TimeOnly)
	}
	return text
}
