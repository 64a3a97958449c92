package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func logsCommand(a *app) *cobra.Command {
	var s clientSettings
	var tail int
	cmd := &cobra.Command{
		Use: "logs NAME", Short: "Show the last lines of a container's log or a serial console", Args: cobra.ExactArgs(1),
	}
	a.settings(cmd, s.define)
	cmd.Flags().IntVar(&tail, "tail", 100, "how many lines, at most 5000")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := s.dial()
		if err != nil {
			return err
		}
		logs, err := c.Logs(cmd.Context(), args[0], tail)
		if err != nil {
			return err
		}
		if logs.Truncated {
			fmt.Fprintln(a.err, "(older lines are left out: the answer is bounded)")
		}
		for _, line := range logs.Lines {
			if _, err := fmt.Fprintln(a.out, line); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}
