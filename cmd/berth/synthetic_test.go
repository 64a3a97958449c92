package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/synthetic"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workers/config"
	"github.com/berth-dev/berth/workflows/contract"
)

// agentFrom parses the arguments of an agent, and checks its host's settings.
func agentFrom(t *testing.T, args ...string) (*agentSettings, v1.Amounts, error) {
	t.Helper()
	var s agentSettings
	f := pflag.NewFlagSet("agent", pflag.ContinueOnError)
	s.define(f)
	s.host.define(f)
	require.NoError(t, f.Parse(args))
	var m config.Mistakes
	amounts := s.host.check(&m)
	return &s, amounts, m.Err()
}

func TestSyntheticMistakesAreToldAtOnce(t *testing.T) {
	_, _, err := agentFrom(t, "--synthetic-delay", "boot=1s", "--synthetic-fail", "start=2", "--synthetic-job-fail", "often",
		"--synthetic-job-time", "-1s", "--synthetic-service-time", "-1s")
	for _, want := range []string{
		"synthetic-delay: ", "synthetic-fail: ", "synthetic-job-fail: ", "synthetic-job-time: ", "synthetic-service-time: ",
	} {
		require.ErrorContains(t, err, want)
	}
	_, _, err = run(t, "", nil, "agent", "--hosts", "3")
	require.ErrorContains(t, err, "hosts: is for --synthetic")
}

func TestDevPassesSyntheticSettingsOn(t *testing.T) {
	first, _, err := agentFrom(t, "--synthetic", "--synthetic-delay", "start=200ms,stop=1s", "--synthetic-fail", "prepare=0.5",
		"--synthetic-job-time", "3s", "--synthetic-job-fail", "0.25", "--synthetic-service-time", "1h")
	require.NoError(t, err)
	again, _, err := agentFrom(t, first.host.args()...)
	require.NoError(t, err)
	require.Equal(t, &synthetic.Config{
		Delays:   map[contract.Step]time.Duration{contract.StepStart: 200 * time.Millisecond, contract.StepStop: time.Second},
		Failures: map[contract.Step]float64{contract.StepPrepare: 0.5},
		JobTime:  3 * time.Second, JobFailures: 0.25, ServiceTime: time.Hour,
	}, again.host.synthetic.config())

	plain, _, err := agentFrom(t)
	require.NoError(t, err)
	require.Nil(t, plain.host.synthetic.config())
	require.NotContains(t, plain.host.args(), "--synthetic")
}

func TestOneProcessIsManyHosts(t *testing.T) {
	s, amounts, err := agentFrom(t, "--synthetic", "--hosts", "3", "--host-id", "rack", "--data-dir", "/d", "--memory", "1Gi")
	require.NoError(t, err)
	configs := s.configs(amounts)
	require.Len(t, configs, 3)
	for i, c := range configs {
		require.Equal(t, numbered("rack", i+1), c.Host)
		require.Equal(t, filepath.Join("/d", c.Host), c.DataDir)
		require.NotNil(t, c.Synthetic)
		require.EqualValues(t, 1<<30, c.Capacity.Memory, "what is set wins")
		require.Positive(t, c.Capacity.CPUs, "nothing is read from this machine")
	}
	one, amounts, err := agentFrom(t, "--host-id", "web-1", "--data-dir", "/d")
	require.NoError(t, err)
	configs = one.configs(amounts)
	require.Len(t, configs, 1)
	require.Equal(t, "/d", configs[0].DataDir)
	require.Nil(t, configs[0].Synthetic)
}
