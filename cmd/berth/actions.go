package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workers/config"
)

func actionsCommand(a *app) *cobra.Command {
	var s clientSettings
	var o output
	var f client.ActionFilter
	var since, until string
	var limit int
	cmd := &cobra.Command{Use: "actions", Short: "List what was done, newest first", Args: cobra.NoArgs}
	a.settings(cmd, s.define)
	o.define(cmd)
	cmd.Flags().StringVar(&f.Workload, "workload", "", "only those on this workload")
	cmd.Flags().StringVar(&f.Verb, "verb", "", "for example deploy")
	cmd.Flags().StringVar(&f.Status, "status", "", "Running, Succeeded, Failed or Superseded")
	cmd.Flags().StringVar(&f.Host, "host", "", "only those on this host")
	cmd.Flags().StringVar(&since, "since", "", "only those that started at this time (2006-01-02T15:04:05Z) or later, or so long ago (2h)")
	cmd.Flags().StringVar(&until, "until", "", "only those that started at this time or earlier, or so long ago")
	cmd.Flags().IntVar(&limit, "limit", 50, "how many")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := s.dial()
		if err != nil {
			return err
		}
		now := time.Now()
		var m config.Mistakes
		m.Require(limit > 0, "limit", "must be at least 1")
		f.Since, err = moment(now, since)
		m.Check("since", err)
		f.Until, err = moment(now, until)
		m.Check("until", err)
		m.Require(f.Since.IsZero() || f.Until.IsZero() || !f.Since.After(f.Until), "since", "is later than --until")
		if err := m.Err(); err != nil {
			return err
		}
		list, err := actionsUpTo(cmd.Context(), c, f, limit)
		if err != nil {
			return err
		}
		if err := o.print(a.out, list, actionsTable(list.Items, now)); err != nil {
			return err
		}
		return o.note(a.out, list.Notes)
	}
	return cmd
}

// actionsUpTo fetches as many pages as are needed.
func actionsUpTo(ctx context.Context, c *client.Client, f client.ActionFilter, limit int) (v1.ActionList, error) {
	all := v1.ActionList{Items: []v1.Action{}}
	for {
		f.Limit = min(pageSize, limit-len(all.Items))
		page, err := c.Actions(ctx, f)
		if err != nil {
			return all, err
		}
		all.Items = append(all.Items, page.Items...)
		all.Notes, all.NextPageToken = page.Notes, page.NextPageToken
		if page.NextPageToken == "" || len(all.Items) >= limit {
			return all, nil
		}
		f.PageToken = page.NextPageToken
	}
}

// moment reads a time, or how long ago it was; nothing is no time.
func moment(now time.Time, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("%q is neither a time as 2006-01-02T15:04:05Z nor a duration as 2h", text)
	}
	return at, nil
}

func actionsTable(actions []v1.Action, now time.Time) table {
	t := table{head: []string{"WORKLOAD", "VERB", "STATUS", "HOST", "GEN", "TRY", "STARTED", "TOOK", "ERROR", "ID"}}
	for _, action := range actions {
		t.rows = append(t.rows, []string{
			action.Workload, string(action.Verb), string(action.Outcome), action.Host, counted(action.Generation),
			counted(int64(action.Attempts)), age(now, action.StartedAt) + " ago", took(action.StartedAt, action.EndedAt),
			clip(failureText(action.Reason, action.Message), 60), action.ID,
		})
	}
	return t
}

// counted writes a number, or nothing if it is not known.
func counted(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// took is how long something lasted, once it has ended.
func took(started time.Time, ended *time.Time) string {
	if ended == nil {
		return ""
	}
	return ended.Sub(started).Round(time.Millisecond).String()
}

// failureText is a reason with its message, on one line.
func failureText(reason v1.Reason, message string) string {
	return oneLine(strings.Trim(string(reason)+": "+message, ": "))
}
