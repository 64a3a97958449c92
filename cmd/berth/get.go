package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/berth-dev/berth/api/v1"
)

func getCommand(a *app) *cobra.Command {
	var s clientSettings
	var o output
	cmd := &cobra.Command{Use: "get NAME", Short: "Show a workload", Args: cobra.ExactArgs(1)}
	a.settings(cmd, s.define)
	o.define(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := s.dial()
		if err != nil {
			return err
		}
		view, err := c.Get(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		return o.print(a.out, view, viewTable(view, time.Now()))
	}
	return cmd
}

// viewTable shows one workload, a property a row.
func viewTable(view v1.View, now time.Time) table {
	s := view.Status
	t := table{head: []string{"NAME", view.Metadata.Name}}
	row := func(name, value string) {
		if value != "" {
			t.rows = append(t.rows, []string{name, value})
		}
	}
	row("KIND", strings.TrimSpace(string(view.Kind)+" "+string(s.Type)))
	row("LABELS", strings.Join(sortedPairs(view.Metadata.Labels), " "))
	row("PHASE", string(s.Phase))
	row("REASON", string(s.Reason))
	row("MESSAGE", oneLine(s.Message))
	row("ADVICE", oneLine(s.Advice))
	row("HOST", s.Host)
	row("ADDRESSES", strings.Join(s.Addresses, " "))
	row("PORTS", strings.Join(s.Ports, " "))
	row("GENERATION", fmt.Sprintf("%d (running: %d)", s.Generation, s.RunningGeneration))
	if s.Action != nil {
		row("ACTION", fmt.Sprintf("%s since %s", s.Action.Verb, age(now, s.Action.StartedAt)))
	}
	if s.NextTry != nil && s.NextTry.After(now) { // a host that tries by itself tells of few of its tries
		row("NEXT TRY", s.NextTry.Local().Format(time.DateTime))
	}
	if s.Tries > 0 {
		row("TRIES", itoa(s.Tries))
	}
	if s.Restarts > 0 {
		row("RESTARTS", itoa(s.Restarts))
	}
	if s.ExitCode != nil {
		row("EXIT CODE", itoa(*s.ExitCode))
	}
	m := meter{}
	for _, p := range view.Progress {
		row("PROGRESS", m.text(view.Metadata.Name, p, now))
	}
	for _, attempt := range view.Attempts {
		row("ATTEMPT", fmt.Sprintf("%d on %s: %s", attempt.Number, attempt.Host, attempt.Outcome))
	}
	for _, condition := range s.Conditions {
		row("CONDITION", fmt.Sprintf("%s: %s (%s ago)", condition.Reason, oneLine(condition.Message), age(now, condition.At)))
	}
	for _, note := range view.Notes {
		row("NOTE", note)
	}
	row("AGE", age(now, s.CreatedAt))
	return t
}
