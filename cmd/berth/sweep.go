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

// sweepPoll is how often a sweep under way is looked at.
const sweepPoll = 500 * time.Millisecond

func sweepCommand(a *app) *cobra.Command {
	var s clientSettings
	var o output
	var flags sweepFlags
	var once bool
	cmd := &cobra.Command{
		Use: "sweep", Short: "Compare what hosts hold with what the fleet wants, and remove orphans", Args: cobra.NoArgs,
		Long: "Show the latest sweep over what the fleet's hosts hold, or, with --once, run one and wait for its end. Without --delete\n" +
			"nothing is removed. The exit code is not zero if the sweep could not be completed, if a removal failed, or if another\n" +
			"sweep runs. `berth sweep schedule` is about those that run by themselves.",
	}
	a.settings(cmd, s.define)
	o.define(cmd)
	flags.define(cmd)
	cmd.Flags().BoolVar(&once, "once", false, "run a sweep now")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !once && flags.any(cmd) {
			return errors.New("--delete, --grace, --host and --allow-many go with --once")
		}
		if err := flags.named(cmd); err != nil {
			return err
		}
		request, err := flags.request()
		if err != nil {
			return err
		}
		c, err := s.dial()
		if err != nil {
			return err
		}
		if !once {
			sweep, err := c.Sweep(cmd.Context(), client.LatestSweep, v1.SweepThings, "")
			if client.IsNotFound(err) {
				return errors.New("there was no sweep yet")
			}
			if err != nil {
				return err
			}
			return a.showSweep(o, sweep)
		}
		sweep, err := sweepOnce(cmd.Context(), c, request)
		if err != nil {
			return err
		}
		if err := a.showSweep(o, sweep); err != nil {
			return err
		}
		if sweep.State != v1.SweepSucceeded {
			return fmt.Errorf("the sweep failed: %s", sweep.Message)
		}
		return nil
	}
	cmd.AddCommand(sweepScheduleCommand(a))
	return cmd
}

// sweepFlags say how a sweep goes.
type sweepFlags struct{ v1.SweepRequest }

func (f *sweepFlags) define(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.Delete, "delete", false, "remove orphans; without it they are only listed")
	durationVar(cmd.Flags(), (*time.Duration)(&f.Grace), "grace", v1.DefaultSweepGrace, "how old an orphan must be before it is removed")
	cmd.Flags().StringSliceVar(&f.Hosts, "host", nil, "only these hosts")
	cmd.Flags().BoolVar(&f.AllowMany, "allow-many", false, fmt.Sprintf("also remove more than %d %% of a host's things", v1.SweepShare))
}

func (f *sweepFlags) any(cmd *cobra.Command) bool {
	for _, name := range []string{"delete", "grace", "host", "allow-many"} {
		if cmd.Flags().Changed(name) {
			return true
		}
	}
	return false
}

// named fails if --host is there and empty: an unset variable must not turn a sweep of one host into one of all.
func (f *sweepFlags) named(cmd *cobra.Command) error {
	if cmd.Flags().Changed("host") && len(f.Hosts) == 0 {
		return errors.New("--host names no host")
	}
	return nil
}

func (f *sweepFlags) request() (v1.SweepRequest, error) {
	if f.Grace.D() < time.Second {
		return v1.SweepRequest{}, errors.New("--grace must be at least 1s")
	}
	return f.SweepRequest, f.Validate()
}

// sweepOnce runs a sweep and waits for its end. What is begun goes on if the wait is broken off.
func sweepOnce(ctx context.Context, c *client.Client, r v1.SweepRequest) (v1.Sweep, error) {
	sweep, err := c.StartSweep(ctx, r, client.Change{})
	ticker := time.NewTicker(sweepPoll)
	defer ticker.Stop()
	for err == nil && sweep.State == v1.SweepRunning {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return sweep, fmt.Errorf("the sweep %s goes on: %w", sweep.ID, ctx.Err())
		}
		sweep, err = c.Sweep(ctx, sweep.ID, v1.SweepThings, "")
	}
	return sweep, err
}

// showSweep prints the summary, the hosts that were left alone, and the things that were not in order.
func (a *app) showSweep(o output, s v1.Sweep) error {
	if o.format != "table" {
		return o.print(a.out, s, table{})
	}
	fmt.Fprintln(a.out, s.Summary)
	for _, h := range s.Hosts {
		fmt.Fprintf(a.out, "host %s: %s\n", h.Name, h.Message)
	}
	if len(s.Things) > 0 {
		t := table{head: []string{"HOST", "KIND", "NAME", "WORKLOAD", "GENERATION", "AGE", "SIZE", "VERDICT", "WHY"}}
		for _, thing := range s.Things {
			t.rows = append(t.rows, thingRow(thing))
		}
		if err := t.print(a.out); err != nil {
			return err
		}
	}
	if s.NextPageToken != "" {
		fmt.Fprintf(a.err, "(the first %d are shown; GET /v1/sweeps/%s?pageToken=%s shows more)\n", len(s.Things), s.ID, s.NextPageToken)
	}
	if s.State != v1.SweepSucceeded {
		fmt.Fprintf(a.err, "%s: %s\n", s.State, s.Message)
	}
	return nil
}

func thingRow(t v1.SweepThing) []string {
	row := []string{t.Host, t.Kind, t.Name, t.Workload, "", "", "", string(t.Verdict), oneLine(t.Message)}
	if t.Generation != 0 {
		row[4] = itoa(int(t.Generation))
	}
	if t.Age != 0 {
		row[5] = t.Age.String()
	}
	if t.Size != 0 {
		row[6] = bytes(float64(t.Size))
	}
	return row
}
