package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-dev/berth/workers/config"
)

// app is what the commands share.
type app struct {
	in        io.Reader
	out, err  io.Writer
	lookupEnv func(string) (string, bool)

	configFile string
	// known are the names of the settings of all commands.
	known []string
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "berth",
		Short: "Run containers and virtual machines on hosts that you own",
		Long: "Run containers and virtual machines on hosts that you own.\n\n" +
			"A setting is a flag, else the variable BERTH_ and its name (--data-dir is BERTH_DATA_DIR), else a key of the file\n" +
			"that --config names. Temporal's own connection settings (TEMPORAL_ADDRESS, TEMPORAL_PROFILE, …) count as well.",
		SilenceUsage: true, SilenceErrors: true, Version: version,
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.PersistentFlags().StringVar(&a.configFile, "config", "", "file of settings (default ~/.config/berth/config.yaml, then /etc/berth/config.yaml)")
	root.AddGroup(
		&cobra.Group{ID: "use", Title: "Workloads:"},
		&cobra.Group{ID: "fleet", Title: "The fleet:"},
		&cobra.Group{ID: "run", Title: "Running Berth:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("use", applyCommand(a), getCommand(a), listCommand(a), deleteCommand(a), logsCommand(a), eventsCommand(a))
	add("use", verbCommands(a)...)
	add("fleet", hostsCommand(a), hostCommand(a), actionsCommand(a), actionCommand(a), sweepCommand(a))
	add("fleet", cordonCommands(a)...)
	add("run", devCommand(a), serverCommand(a), agentCommand(a), guardCommand(a), tokenCommand(a), keyCommand(a), versionCommand(a))
	return root
}

// settings adds flags that are settings to a command: before it runs, they are filled from environment and file. Flags
// that are not settings, such as a filter, come from the command line only.
func (a *app) settings(cmd *cobra.Command, define ...func(*pflag.FlagSet)) {
	set := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	for _, d := range define {
		d(set)
	}
	set.VisitAll(func(f *pflag.Flag) { a.known = append(a.known, f.Name) })
	cmd.Flags().AddFlagSet(set)
	cmd.PreRunE = func(*cobra.Command, []string) error { return config.Fill(set, a.source()) }
}

// source is the file of settings: the one that was named, else the first default that exists.
func (a *app) source() config.Source {
	src := config.Source{File: a.configFile, Known: a.known, LookupEnv: a.lookupEnv}
	if src.File == "" {
		src.File, _ = a.lookupEnv(config.EnvName("config"))
	}
	if src.File != "" {
		return src
	}
	src.Optional = true
	src.File = "/etc/berth/config.yaml"
	if dir, err := os.UserConfigDir(); err == nil {
		own := filepath.Join(dir, "berth", "config.yaml")
		if _, err := os.Stat(own); err == nil {
			src.File = own
		}
	}
	return src
}
