package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/api/rest"
)

func tokenCommand(a *app) *cobra.Command {
	var name, scope string
	cmd := &cobra.Command{Use: "token", Short: "Make tokens for the API", Args: cobra.NoArgs}
	create := &cobra.Command{
		Use: "new", Short: "Print a new token, and its line for the tokens file",
		Long: "Print a new token on the first line and its line for the tokens file on the second. The token is shown this once\n" +
			"only: the file holds no more than its hash.",
		Example: "  berth token new --name ci --scope write",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			s, err := rest.ParseScope(scope)
			if err != nil {
				return err
			}
			secret, token, err := rest.NewToken(name, s)
			if err != nil {
				return err
			}
			fmt.Fprintln(a.err, "The token, for BERTH_TOKEN or a --token-file, and its line for the server's tokens file:")
			_, err = fmt.Fprintf(a.out, "%s\n%s\n", secret, token.Line())
			return err
		},
	}
	create.Flags().StringVar(&name, "name", "", "whose token it is; shown in logs")
	create.Flags().StringVar(&scope, "scope", "read", "read, write or admin; each includes those before it")
	if err := create.MarkFlagRequired("name"); err != nil {
		panic(err) // the flag was defined above
	}
	cmd.AddCommand(create)
	return cmd
}
