package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
)

func hostsCommand(a *app) *cobra.Command {
	var s clientSettings
	var o output
	cmd := &cobra.Command{Use: "hosts", Short: "List hosts", Args: cobra.NoArgs}
	a.settings(cmd, s.define)
	o.define(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := s.dial()
		if err != nil {
			return err
		}
		list, err := hostsAll(cmd.Context(), c)
		if err != nil {
			return err
		}
		return o.print(a.out, list, hostsTable(list.Items, time.Now()))
	}
	return cmd
}

func hostsAll(ctx context.Context, c *client.Client) (v1.HostList, error) {
	all := v1.HostList{Items: []v1.Host{}}
	for token := ""; ; {
		page, err := c.Hosts(ctx, pageSize, token)
		if err != nil {
			return all, err
		}
		all.Items = append(all.Items, page.Items...)
		if token = page.NextPageToken; token == "" {
			return all, nil
		}
	}
}

func hostsTable(hosts []v1.Host, now time.Time) table {
	t := table{head: []string{"HOST", "STATE", "WORKLOADS", "CPUS", "MEMORY", "DISK", "RUNTIMES", "GUARD", "SINCE", "REASON"}}
	for _, h := range hosts {
		state := string(h.State)
		message := oneLine(h.Message)
		switch {
		case h.Drain != nil && h.Drain.EndedAt != nil:
			state, message = state+",drained", strings.TrimSpace(message+" "+drainText(h.Drain))
		case h.Drain != nil:
			state, message = state+",draining", strings.TrimSpace(message+" "+drainText(h.Drain))
		case h.Cordoned:
			state += ",cordoned"
		}
		var runtimes []string
		for _, r := range h.Runtimes {
			name := r.Name
			if !r.Ready {
				name += "(down)"
			}
			runtimes = append(runtimes, name)
		}
		t.rows = append(t.rows, []string{
			h.Name, state, itoa(h.Workloads),
			fmt.Sprintf("%s/%s", h.Reserved.CPUs, h.Capacity.CPUs),
			bytes(float64(h.Reserved.Memory)) + "/" + bytes(float64(h.Capacity.Memory)),
			bytes(float64(h.Reserved.Disk)) + "/" + bytes(float64(h.Capacity.Disk)),
			strings.Join(runtimes, " "), yesNo(h.Guard), age(now, h.LastChange), strings.Trim(string(h.Reason)+": "+message, ": "),
		})
	}
	return t
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
