package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
)

func actionsCommand(a *app) *cobra.Command {
	var s clientSettings
	var o output
	var f client.ActionFilter
	cmd := &cobra.Command{Use: "actions", Short: "List what was done, newest first", Args: cobra.NoArgs}
	a.settings(cmd, s.define)
	o.define(cmd)
	cmd.Flags().StringVar(&f.Workload, "workload", "", "only those on this workload")
	cmd.Flags().StringVar(&f.Verb, "verb", "", "for example deploy")
	cmd.Flags().StringVar(&f.Status, "status", "", "Running, Succeeded, Failed or Superseded")
	cmd.Flags().StringVar(&f.Host, "host", "", "only those on this host")
	cmd.Flags().IntVar(&f.Limit, "limit", 50, "how many, at most 200")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := s.dial()
		if err != nil {
			return err
		}
		list, err := c.Actions(cmd.Context(), f)
		if err != nil {
			return err
		}
		return o.print(a.out, list, actionsTable(list.Items, time.Now()))
	}
	return cmd
}

func actionsTable(actions []v1.Action, now time.Time) table {
	t := table{head: []string{"WORKLOAD", "VERB", "STATUS", "HOST", "STARTED", "TOOK", "REASON", "ID"}}
	for _, action := range actions {
		took := ""
		if action.EndedAt != nil {
			took = action.EndedAt.Sub(action.StartedAt).Round(time.Millisecond).String()
		}
		t.rows = append(t.rows, []string{
			action.Workload, string(action.Verb), string(action.Outcome), action.Host, age(now, action.StartedAt) + " ago", took,
			string(action.Reason), action.ID,
		})
	}
	return t
}
