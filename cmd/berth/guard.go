package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/fx"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workers/config"
	"github.com/berth-dev/berth/workers/guard"
)

// defaultRunDir is on tmpfs on every Linux.
const defaultRunDir = "/run/berth"

// guardSettings are the settings of `berth guard`. They are the agent's of the same names.
type guardSettings struct {
	log    logSettings
	name   string
	fleet  string
	runDir string
}

func guardCommand(a *app) *cobra.Command {
	var s guardSettings
	cmd := &cobra.Command{
		Use:   "guard",
		Short: "Stop strict workloads when this host's agent cannot",
		Long: "Stop strict workloads when this host's agent cannot: when its lease has ended and it is dead or frozen. Run it\n" +
			"beside the agent, with the same host id, fleet and run directory. It needs neither Temporal nor the network.\n" +
			"Without it the host takes no strict workloads.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context(), a) },
	}
	a.settings(cmd, s.log.define, s.define)
	return cmd
}

func (s *guardSettings) define(f *pflag.FlagSet) {
	f.StringVar(&s.name, "host-id", defaultHost(), "id of this host in the fleet")
	f.StringVar(&s.fleet, "fleet", "berth", "id of the installation")
	f.StringVar(&s.runDir, "run-dir", defaultRunDir, "directory, on tmpfs, of what agent and guard tell each other")
}

func (s *guardSettings) run(ctx context.Context, a *app) error {
	var m config.Mistakes
	logger := s.log.logger(a.err, &m)
	m.Require(v1.ValidateName(s.name) == nil, "host-id", "%q is not a name: lower case letters, digits and dashes, at most 63", s.name)
	m.Require(v1.ValidateName(s.fleet) == nil, "fleet", "%q is not a name: lower case letters, digits and dashes, at most 63", s.fleet)
	m.Require(s.runDir != "", "run-dir", "is needed")
	if err := m.Err(); err != nil {
		return err
	}
	return runApp(ctx, logger, fx.Supply(guard.Config{RunDir: s.runDir, Fleet: s.fleet, Host: s.name}), guard.Module)
}
