package main

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/berth-dev/berth/workers/config"
	"github.com/berth-dev/berth/workflows/contract"
)

// cronJob is what matters of a Kubernetes CronJob here.
type cronJob struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Schedule                string `json:"schedule"`
		ConcurrencyPolicy       string `json:"concurrencyPolicy"`
		StartingDeadlineSeconds int    `json:"startingDeadlineSeconds"`
		JobTemplate             struct {
			Spec struct {
				ActiveDeadlineSeconds int  `json:"activeDeadlineSeconds"`
				BackoffLimit          *int `json:"backoffLimit"`
				Template              struct {
					Spec struct {
						RestartPolicy                string      `json:"restartPolicy"`
						AutomountServiceAccountToken *bool       `json:"automountServiceAccountToken"`
						Containers                   []container `json:"containers"`
						Volumes                      []struct {
							Name   string `json:"name"`
							Secret struct {
								SecretName string `json:"secretName"`
							} `json:"secret"`
						} `json:"volumes"`
					} `json:"spec"`
				} `json:"template"`
			} `json:"spec"`
		} `json:"jobTemplate"`
	} `json:"spec"`
}

type container struct {
	Command      []string                       `json:"command"`
	Args         []string                       `json:"args"`
	Env          []struct{ Name, Value string } `json:"env"`
	VolumeMounts []struct {
		Name      string `json:"name"`
		MountPath string `json:"mountPath"`
	} `json:"volumeMounts"`
}

// The CronJob runs this program: its arguments and settings must be ones that it knows, and a dry run is what it asks for.
func TestTheCronJobOfTheSweep(t *testing.T) {
	data, err := os.ReadFile("../../deploy/kubernetes/orphan-sweep-cronjob.yaml")
	require.NoError(t, err)
	asJSON, err := yaml.YAMLToJSONStrict(data)
	require.NoError(t, err)
	var job cronJob
	require.NoError(t, json.Unmarshal(asJSON, &job))
	require.Equal(t, "batch/v1 CronJob", job.APIVersion+" "+job.Kind)
	require.Len(t, strings.Fields(job.Spec.Schedule), 5)
	require.Equal(t, "Forbid", job.Spec.ConcurrencyPolicy)
	require.Equal(t, 120, job.Spec.StartingDeadlineSeconds)

	spec := job.Spec.JobTemplate.Spec
	require.Greater(t, spec.ActiveDeadlineSeconds, int(contract.SweepLimit/time.Second), "longer than any sweep")
	require.Zero(t, *spec.BackoffLimit)
	pod := spec.Template.Spec
	require.Equal(t, "Never", pod.RestartPolicy)
	require.False(t, *pod.AutomountServiceAccountToken)
	require.Len(t, pod.Containers, 1)
	c := pod.Containers[0]
	require.Equal(t, []string{"berth"}, c.Command)

	a := &app{in: strings.NewReader(""), out: io.Discard, err: io.Discard, lookupEnv: func(string) (string, bool) { return "", false }}
	cmd, rest, err := newRoot(a).Find(c.Args)
	require.NoError(t, err)
	require.Equal(t, "sweep", cmd.Name())
	require.NoError(t, cmd.ParseFlags(rest))
	said := map[string]string{}
	cmd.Flags().Visit(func(f *pflag.Flag) { said[f.Name] = f.Value.String() })
	require.Equal(t, map[string]string{"once": "true", "grace": "10m0s"}, said, "a dry run by default")

	settings := map[string]bool{}
	for _, name := range a.known {
		settings[config.EnvName(name)] = true
	}
	for _, env := range c.Env {
		require.True(t, settings[env.Name], "%s is no setting", env.Name)
		require.NotEqual(t, config.EnvName("token"), env.Name, "the token comes as a file")
	}
	require.Equal(t, pod.Volumes[0].Name, c.VolumeMounts[0].Name)
	require.NotEmpty(t, pod.Volumes[0].Secret.SecretName)
}
