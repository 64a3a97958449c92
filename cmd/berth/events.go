package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
)

func eventsCommand(a *app) *cobra.Command {
	var s clientSettings
	var o output
	var follow bool
	var limit int
	cmd := &cobra.Command{
		Use: "events NAME", Short: "Show what changed of a workload, and what changes", Args: cobra.ExactArgs(1),
		Long: "Show the last changes of a workload, oldest first, as far as Temporal has them: requests that were accepted, phases,\n" +
			"actions and how they ended, exits and conditions. With --follow it goes on until the workload is removed, over\n" +
			"restarts of the server. How far a step is, `berth get` tells.",
	}
	a.settings(cmd, s.define)
	o.define(cmd)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what happens; JSON is then written one event a line")
	cmd.Flags().IntVar(&limit, "limit", 50, "how many of the past")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		least := 1 // an empty list would say of no workload whether it is there
		if follow {
			least = 0
		}
		if limit < least {
			return fmt.Errorf("--limit must be at least %d", least)
		}
		c, err := s.dial()
		if err != nil {
			return err
		}
		if follow {
			return o.follow(cmd.Context(), a, c, args[0], limit)
		}
		list, err := eventsUpTo(cmd.Context(), c, args[0], limit)
		if err != nil {
			return err
		}
		return o.print(a.out, list, eventsTable(list.Items))
	}
	return cmd
}

// eventsUpTo fetches as many pages as are needed.
func eventsUpTo(ctx context.Context, c *client.Client, name string, limit int) (v1.EventList, error) {
	all := v1.EventList{Items: []v1.Event{}}
	for len(all.Items) < limit {
		page, err := c.Events(ctx, name, min(pageSize, limit-len(all.Items)), all.NextPageToken)
		if err != nil {
			return all, err
		}
		all.Items = append(page.Items, all.Items...)
		if all.NextPageToken = page.NextPageToken; all.NextPageToken == "" {
			break
		}
	}
	return all, nil
}

// follow writes events as they come. To be interrupted is how it usually ends, and no failure.
func (o *output) follow(ctx context.Context, a *app, c *client.Client, name string, limit int) error {
	lines := json.NewEncoder(a.out)
	write := func(e v1.Event) error { return lines.Encode(e) }
	switch o.format {
	case "json":
	case "table":
		write = func(e v1.Event) error {
			_, err := fmt.Fprintf(a.out, "%s  %-13s  %s\n", e.At.Local().Format(time.DateTime), e.Type, eventText(e))
			return err
		}
	default:
		return fmt.Errorf("with --follow the output is table or json, not %q", o.format)
	}
	err := c.Watch(ctx, name, min(limit, pageSize), write)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func eventsTable(events []v1.Event) table {
	t := table{head: []string{"TIME", "EVENT", "WHAT"}}
	for _, e := range events {
		t.rows = append(t.rows, []string{e.At.Local().Format(time.DateTime), string(e.Type), eventText(e)})
	}
	return t
}

// eventText is an event on one line, with what helps to look further.
func eventText(e v1.Event) string {
	text := oneLine(e.Message)
	if e.Type == v1.EventActionStarted {
		text += " (" + e.Action + ")"
	}
	return text
}
