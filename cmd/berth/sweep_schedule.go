package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/berth-dev/berth/api/v1"
)

func sweepScheduleCommand(a *app) *cobra.Command {
	var s clientSettings
	var o output
	var flags sweepFlags
	var pause, resume, dryRun, allHosts bool
	var every time.Duration
	cmd := &cobra.Command{
		Use: "schedule", Short: "Show when sweeps run by themselves, or change it", Args: cobra.NoArgs,
		Long: "Show when sweeps run by themselves, or change it. What is not named stays as it is. --delete and --dry-run say whether\n" +
			"orphans are removed; scheduled sweeps only list them until an operator says otherwise.",
	}
	a.settings(cmd, s.define)
	o.define(cmd)
	flags.define(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only list orphans")
	cmd.Flags().BoolVar(&allHosts, "all-hosts", false, "sweep all hosts again")
	cmd.Flags().BoolVar(&pause, "pause", false, "begin no more sweeps; one that runs goes on")
	cmd.Flags().BoolVar(&resume, "resume", false, "begin sweeps again")
	durationVar(cmd.Flags(), &every, "every", 0, "time from one sweep to the next, at least "+v1.MinSweepInterval.String())
	cmd.MarkFlagsMutuallyExclusive("pause", "resume")
	cmd.MarkFlagsMutuallyExclusive("delete", "dry-run")
	cmd.MarkFlagsMutuallyExclusive("host", "all-hosts")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := flags.named(cmd); err != nil {
			return err
		}
		c, err := s.dial()
		if err != nil {
			return err
		}
		schedule, err := c.SweepSchedule(cmd.Context())
		if err != nil {
			return err
		}
		var change v1.SweepScheduleChange
		if pause || resume {
			change.Paused = &pause
		}
		if cmd.Flags().Changed("every") {
			change.Interval = (*v1.Duration)(&every)
		}
		if flags.any(cmd) || dryRun || allHosts {
			request := schedule.Request
			if err := flags.changed(cmd, &request, dryRun); err != nil {
				return err
			}
			if allHosts {
				request.Hosts = nil
			}
			change.Request = &request
		}
		if change != (v1.SweepScheduleChange{}) {
			if schedule, err = c.ChangeSweepSchedule(cmd.Context(), change); err != nil {
				return err
			}
		}
		return o.print(a.out, schedule, scheduleTable(schedule, time.Now()))
	}
	return cmd
}

// changed takes over what was said on the command line.
func (f *sweepFlags) changed(cmd *cobra.Command, r *v1.SweepRequest, dryRun bool) error {
	said, err := f.request()
	if err != nil {
		return err
	}
	if dryRun || cmd.Flags().Changed("delete") {
		r.Delete = said.Delete && !dryRun
	}
	if cmd.Flags().Changed("grace") {
		r.Grace = said.Grace
	}
	if cmd.Flags().Changed("host") {
		r.Hosts = said.Hosts
	}
	if cmd.Flags().Changed("allow-many") {
		r.AllowMany = said.AllowMany
	}
	return nil
}

func scheduleTable(s v1.SweepSchedule, now time.Time) table {
	mode, next, last, every := "dry run", "", "", "by its own spec"
	if s.Request.Delete {
		mode = "delete"
	}
	if s.Request.AllowMany {
		mode += ", also many"
	}
	if s.Paused {
		next = strings.TrimSuffix("paused: "+s.Note, ": ")
	} else if s.NextRun != nil {
		next = "in " + s.NextRun.Sub(now).Round(time.Second).String()
	}
	if s.LastRun != nil {
		last = age(now, *s.LastRun) + " ago"
	}
	if s.Interval != 0 {
		every = s.Interval.String()
	}
	return table{
		head: []string{"EVERY", "MODE", "GRACE", "HOSTS", "NEXT", "LAST", "SKIPPED"},
		rows: [][]string{{every, mode, s.Request.Grace.String(), strings.Join(s.Request.Hosts, ","), next, last, fmt.Sprint(s.Skipped)}},
	}
}
