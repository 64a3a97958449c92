package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
)

func cordonCommands(a *app) []*cobra.Command {
	return []*cobra.Command{
		hostChangeCommand(a, "cordon HOST...", "Keep new work away from hosts; what runs there stays",
			func(ctx context.Context, c *client.Client, host string) (v1.Host, error) {
				return c.Cordon(ctx, host, true)
			}),
		hostChangeCommand(a, "uncordon HOST...", "Let new work in again",
			func(ctx context.Context, c *client.Client, host string) (v1.Host, error) {
				return c.Cordon(ctx, host, false)
			}),
		drainCommand(a),
		hostChangeCommand(a, "forget HOST...", "Give up hosts that will not come back; what may remain there is listed",
			func(ctx context.Context, c *client.Client, host string) (v1.Host, error) { return c.Forget(ctx, host) }),
		hostChangeCommand(a, "adopt HOST...", "Let forgotten hosts in again",
			func(ctx context.Context, c *client.Client, host string) (v1.Host, error) { return c.Adopt(ctx, host) }),
	}
}

// hostCommand shows one host, and switches its runtimes.
func hostCommand(a *app) *cobra.Command {
	var off, on []string
	cmd := hostCommandThen(a, "host HOST", "Show a host, or switch its runtimes off and on",
		func(ctx context.Context, c *client.Client, name string) (v1.Host, error) {
			for _, runtime := range off {
				if _, err := c.SwitchRuntime(ctx, name, runtime, false); err != nil {
					return v1.Host{}, err
				}
			}
			for _, runtime := range on {
				if _, err := c.SwitchRuntime(ctx, name, runtime, true); err != nil {
					return v1.Host{}, err
				}
			}
			return c.Host(ctx, name)
		}, func(hosts []v1.Host, now time.Time) table { return hostTable(hosts[0], now) }, nil)
	cmd.Args = cobra.ExactArgs(1)
	cmd.Flags().StringSliceVar(&off, "disable-runtime", nil, "runtime to switch off, docker or libvirt: what runs, runs on; what is to start, waits")
	cmd.Flags().StringSliceVar(&on, "enable-runtime", nil, "runtime to switch on again")
	checkFirst(cmd, func(set func(string) bool) error { return checkSwitches(off, on, set) })
	return cmd
}

// checkSwitches refuses what would change nothing, or be undone at once.
func checkSwitches(off, on []string, set func(flag string) bool) error {
	for flag, runtimes := range map[string][]string{"disable-runtime": off, "enable-runtime": on} {
		if set(flag) && (len(runtimes) == 0 || slices.Contains(runtimes, "")) {
			return fmt.Errorf("--%s names no runtime: `berth host HOST` lists them", flag)
		}
	}
	for _, runtime := range off {
		if slices.Contains(on, runtime) {
			return fmt.Errorf("%s is to be switched off and on: name it once", runtime)
		}
	}
	return nil
}

// checkFirst has a command refuse flags that make no sense together before it does anything. The check is told how to ask
// whether a flag was set.
func checkFirst(cmd *cobra.Command, check func(set func(flag string) bool) error) {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd.Flags().Changed); err != nil {
			return err
		}
		return run(cmd, args)
	}
}

// hostChange does one thing to a host and returns it as it is then.
type hostChange func(ctx context.Context, c *client.Client, host string) (v1.Host, error)

// hostChangeCommand does one thing to each host that is named, and shows the hosts as they are then.
func hostChangeCommand(a *app, use, short string, change hostChange) *cobra.Command {
	return hostCommandThen(a, use, short, change, hostsTable, nil)
}

// hostCommandThen does as hostChangeCommand, shows the hosts in another way, and then does something with those that were named.
func hostCommandThen(a *app, use, short string, change hostChange,
	show func([]v1.Host, time.Time) table, then func(context.Context, *client.Client, []string) error,
) *cobra.Command {
	var s clientSettings
	var o output
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.MinimumNArgs(1)}
	a.settings(cmd, s.define)
	o.define(cmd)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		c, err := s.dial()
		if err != nil {
			return err
		}
		hosts := []v1.Host{}
		var errs []error
		for _, name := range names {
			host, err := change(cmd.Context(), c, name)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
				continue
			}
			hosts = append(hosts, host)
		}
		if len(hosts) > 0 {
			errs = append(errs, o.print(a.out, v1.HostList{Items: hosts}, show(hosts, time.Now())))
		}
		if err := errors.Join(errs...); err != nil || then == nil {
			return err
		}
		return then(cmd.Context(), c, names)
	}
	return cmd
}
