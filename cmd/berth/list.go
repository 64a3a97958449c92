package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
)

// pageSize is of the pages that lists are fetched in.
const pageSize = 200

func listCommand(a *app) *cobra.Command {
	var s clientSettings
	var o output
	var f client.Filter
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List workloads", Args: cobra.NoArgs}
	a.settings(cmd, s.define)
	o.define(cmd)
	cmd.Flags().StringVar(&f.Kind, "kind", "", "Container or VM")
	cmd.Flags().StringVar(&f.Phase, "phase", "", "for example Running")
	cmd.Flags().StringVar(&f.Host, "host", "", "only those on this host")
	cmd.Flags().StringVarP(&f.Label, "label", "l", "", "only those with all of these labels, key=value,key2=value2")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := s.dial()
		if err != nil {
			return err
		}
		list, err := listAll(cmd.Context(), c, f)
		if err != nil {
			return err
		}
		return o.print(a.out, list, listTable(list.Items, time.Now()))
	}
	return cmd
}

// listAll fetches all pages.
func listAll(ctx context.Context, c *client.Client, f client.Filter) (v1.WorkloadList, error) {
	f.Limit = pageSize
	all := v1.WorkloadList{Items: []v1.View{}}
	for {
		page, err := c.List(ctx, f)
		if err != nil {
			return all, err
		}
		all.Items = append(all.Items, page.Items...)
		if page.NextPageToken == "" {
			return all, nil
		}
		f.PageToken = page.NextPageToken
	}
}

func listTable(views []v1.View, now time.Time) table {
	t := table{head: []string{"NAME", "KIND", "PHASE", "HOST", "ADDRESSES", "AGE", "REASON"}}
	for _, v := range views {
		reason := string(v.Status.Reason)
		if v.Status.Message != "" {
			reason = clip(oneLine(strings.Trim(reason+": "+v.Status.Message, ": ")), 80)
		}
		t.rows = append(t.rows, []string{
			v.Metadata.Name, string(v.Kind), string(v.Status.Phase), v.Status.Host, strings.Join(v.Status.Addresses, " "),
			age(now, v.Status.CreatedAt), reason,
		})
	}
	return t
}
