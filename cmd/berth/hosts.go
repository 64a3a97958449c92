package main

import (
	"context"
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
