package container_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/container"
	"github.com/berth-dev/berth/activities/container/docker"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// stuck is an engine that has not let go of one container's last run, which ended a while ago.
type stuck struct {
	container.Driver
	id  string
	ago time.Duration
}

func (s *stuck) Start(ctx context.Context, id string) error {
	if id == s.id {
		return contract.Retryable(v1.ReasonRuntimeError, "", "Docker could not start the container").WithCause(container.ErrStuck)
	}
	return s.Driver.Start(ctx, id)
}

func (s *stuck) Find(ctx context.Context, labels map[string]string) ([]container.Container, error) {
	all, err := s.Driver.Find(ctx, labels)
	for i := range all {
		if all[i].ID == s.id {
			all[i].FinishedAt = all[i].FinishedAt.Add(-s.ago)
		}
	}
	return all, err
}

// stuckHost is a host with a workload that was stopped and that the engine can't start again.
func stuckHost(t *testing.T, ago time.Duration) (h *host, in contract.StepIn, id string) {
	h = newHost(t)
	driver, err := docker.New("")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, driver.Close()) })
	in = request(sleeper(), 1, 10)
	id = h.deploy(in).RuntimeID
	h.must(contract.StepStop, verb(in, v1.VerbStop, 11))
	h.rt = container.New(container.Config{Fleet: h.fleet, Host: "h1", DataDir: t.TempDir()}, &stuck{driver, id, ago})
	return h, in, id
}

func TestAContainerThatTheEngineCannotStartAgainIsReplaced(t *testing.T) {
	h, in, id := stuckHost(t, 0)
	out := h.deploy(verb(in, v1.VerbStart, 12))
	require.NotEqual(t, id, out.RuntimeID)
	require.Len(t, h.containers(), 1)
	require.Equal(t, contract.RunRunning, h.observe("web").State)
}

func TestAHostGivesUpWhatTheEngineCannotStartAgain(t *testing.T) {
	for name, c := range map[string]struct {
		ago  time.Duration
		left int
	}{"a moment after it ended": {0, 1}, "later": {time.Minute, 0}} {
		t.Run(name, func(t *testing.T) {
			h, in, _ := stuckHost(t, c.ago)
			_, failure := h.as(restarting{h.rt}, contract.StepStart, verb(in, v1.VerbStart, 12))
			require.NotNil(t, failure)
			require.Len(t, h.containers(), c.left)
		})
	}
}
