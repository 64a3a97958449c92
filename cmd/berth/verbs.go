package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func verbCommands(a *app) []*cobra.Command {
	return []*cobra.Command{
		verbCommand(a, v1.VerbStart, "Start stopped workloads", wantUp),
		verbCommand(a, v1.VerbStop, "Stop workloads and keep their disks", wantStopped),
		verbCommand(a, v1.VerbRestart, "Restart workloads", wantUp),
		verbCommand(a, v1.VerbRetry, "Try failed or waiting workloads again at once", wantUp),
	}
}

func deleteCommand(a *app) *cobra.Command {
	cmd := verbCommand(a, v1.VerbRemove, "Remove workloads, and keep their named volumes", wantGone)
	cmd.Use, cmd.Aliases = "delete NAME...", []string{"remove", "rm"}
	cmd.Long = "Remove workloads and what Berth made for them: containers, domains, disks, seeds. Named volumes stay on their host,\n" +
		"and a new workload of the same name takes them again when it comes there; with --volumes they go too. What you\n" +
		"brought stays in any case. If the host is away, this waits for it; with --force the name is free at once, and the\n" +
		"host removes what it has before it takes work again."
	return cmd
}

// verbCommand asks one verb of each workload that is named.
func verbCommand(a *app, verb v1.Verb, short string, w want) *cobra.Command {
	var s clientSettings
	var o output
	var wait waiting
	var force, volumes bool
	cmd := &cobra.Command{Use: string(verb) + " NAME...", Short: short, Args: cobra.MinimumNArgs(1)}
	a.settings(cmd, s.define)
	o.define(cmd)
	wait.define(cmd)
	if verb == v1.VerbRemove {
		cmd.Flags().BoolVar(&force, "force", false, "do not wait for a host that is away")
		cmd.Flags().BoolVar(&volumes, "volumes", false, "remove named volumes too, and the data in them")
	}
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		c, err := s.dial()
		if err != nil {
			return err
		}
		accepted, err := doAll(cmd.Context(), c, verb, names, client.Change{Force: force, Volumes: volumes})
		t := table{head: []string{"WORKLOAD", "REQUEST"}}
		for _, one := range accepted {
			request := string(verb) + " accepted"
			if one.Changed == string(contract.ChangedUnchanged) {
				request = "nothing to " + string(verb)
				if verb == v1.VerbRemove {
					request = "is being removed already"
				}
			}
			t.rows = append(t.rows, []string{one.Name, request})
		}
		if len(accepted) > 0 {
			if perr := o.print(a.out, accepted, t); perr != nil {
				return perr
			}
			if perr := o.note(a.out, keptLines(accepted)); perr != nil {
				return perr
			}
		}
		if !wait.wait || len(accepted) == 0 {
			return err
		}
		return errors.Join(err, wait.all(cmd.Context(), a, c, goalsOf(accepted, w)))
	}
	return cmd
}

// doAll asks of each workload; a refusal of one does not keep the others from being asked.
func doAll(ctx context.Context, c *client.Client, verb v1.Verb, names []string, change client.Change) ([]v1.Accepted, error) {
	accepted := []v1.Accepted{}
	var errs []error
	for _, name := range names {
		one, err := c.Do(ctx, name, verb, change)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		accepted = append(accepted, one)
	}
	return accepted, errors.Join(errs...)
}

// keptLines say what a removal leaves, and where.
func keptLines(accepted []v1.Accepted) []string {
	var lines []string
	for _, one := range accepted {
		for _, k := range one.Kept {
			what := k.Ref
			if k.Name != "" {
				what = fmt.Sprintf("volume %s (%s)", k.Name, k.Ref)
			}
			lines = append(lines, fmt.Sprintf("%s: stays on host %s: %s", one.Name, k.Host, what))
		}
	}
	return lines
}
