package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/workflows/contract"
)

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.out, "berth %s (contract %d, %s)\n", version, contract.Number, runtime.Version())
			return err
		},
	}
}
