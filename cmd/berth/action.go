package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/berth-dev/berth/api/v1"
)

func actionCommand(a *app) *cobra.Command {
	var s clientSettings
	var o output
	cmd := &cobra.Command{
		Use: "action ID", Short: "Show what was done in one action, step by step", Args: cobra.ExactArgs(1),
		Long: "Show what was done in one action, step by step. `berth actions` lists the ids.",
	}
	a.settings(cmd, s.define)
	o.define(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := s.dial()
		if err != nil {
			return err
		}
		view, err := c.Action(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if err := o.note(a.out, []string{actionLine(view.Action)}); err != nil {
			return err
		}
		if err := o.print(a.out, view, stepsTable(view)); err != nil {
			return err
		}
		return o.note(a.out, footer(view))
	}
	return cmd
}

// actionLine is an action on one line.
func actionLine(action v1.Action) string {
	text := fmt.Sprintf("%s of %s", action.Verb, action.Workload)
	if action.Generation != 0 {
		text += fmt.Sprintf(", generation %d", action.Generation)
	}
	if action.Attempts > 1 {
		text += fmt.Sprintf(", try %d", action.Attempts)
	}
	if action.Host != "" {
		text += ", on " + action.Host
	}
	text += fmt.Sprintf(": %s, began %s", action.Outcome, action.StartedAt.Local().Format(time.DateTime))
	if action.EndedAt != nil {
		text += ", took " + took(action.StartedAt, action.EndedAt)
	}
	if failure := failureText(action.Reason, action.Message); failure != "" {
		text += "\n" + failure
	}
	return text
}

func stepsTable(view v1.ActionView) table {
	t := table{head: []string{"STEP", "STATUS", "TRIES", "BEGAN", "TOOK", "BYTES", "SAYS"}}
	for _, s := range view.Steps {
		says := strings.Join(append([]string{s.Found}, kept(s.Kept)...), "; ")
		if s.Progress != nil && s.Progress.Detail != "" {
			says = s.Progress.Detail
		}
		if s.Failure != nil {
			says = failureText(s.Failure.Reason, s.Failure.Message)
		}
		moved := ""
		if s.Bytes > 0 {
			moved = bytes(float64(s.Bytes))
		}
		status := string(s.Outcome)
		if s.Outcome == v1.OutcomeRunning && s.StartedAt == nil {
			status = "Waiting" // for its host to take it
		}
		t.rows = append(t.rows, []string{
			s.Step, status, counted(int64(s.Attempts)), "+" + took(view.StartedAt, &s.BegunAt), took(s.BegunAt, s.EndedAt), moved,
			clip(oneLine(strings.Trim(says, "; ")), 100),
		})
	}
	return t
}

func kept(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	return []string{"kept " + strings.Join(names, ", ")}
}

// footer is what stands below the steps.
func footer(view v1.ActionView) []string {
	lines := slices.Clone(view.Notes)
	if link := view.Links["temporal"]; link != "" {
		lines = append(lines, "Temporal's Web UI: "+link)
	}
	return lines
}
