package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/workers/temporal"
)

func keyCommand(a *app) *cobra.Command {
	var id string
	cmd := &cobra.Command{Use: "key", Short: "Make keys that encrypt what goes to Temporal", Args: cobra.NoArgs}
	create := &cobra.Command{
		Use: "new", Short: "Print a new key as a line for the key file",
		Long: "Print a new key as a line for the key file. The first line of the file encrypts, all of them decrypt: to rotate,\n" +
			"first add the new key as the last line everywhere, then move it to the top. Servers and agents need the same file.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			key, err := temporal.NewKey(id)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.out, key.Line())
			return err
		},
	}
	create.Flags().StringVar(&id, "id", time.Now().UTC().Format("2006-01-02"), "name of the key")
	cmd.AddCommand(create)
	return cmd
}
