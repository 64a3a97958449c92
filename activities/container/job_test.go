package container_test

import (
	"testing"
	"time"

	dc "github.com/docker/docker/api/types/container"
	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func (h *host) awaitExit(workload string) *contract.Exit {
	h.t.Helper()
	require.Eventually(h.t, func() bool { return h.observe(workload).State == contract.RunExited }, 2*time.Minute, 20*time.Millisecond)
	return h.observe(workload).Exit
}

func TestJobRunsOnceAnAttempt(t *testing.T) {
	h := newHost(t)
	spec := job(`echo ran >>/data/runs; exit 7`)
	spec.Volumes = []v1.Mount{{Name: "data", Target: "/data"}}
	in := request(spec, 1, 10)
	first := h.must(contract.StepStart, in)
	exit := h.awaitExit("web")
	require.Equal(t, 7, exit.Code)
	require.Equal(t, v1.ReasonExited, exit.Outcome)
	require.WithinDuration(t, time.Now(), exit.At, time.Minute)

	again := h.must(contract.StepStart, verb(in, v1.VerbDeploy, 11))
	require.Equal(t, first.RuntimeID, again.RuntimeID)
	require.NotNil(t, again.Exit)
	require.Equal(t, 7, again.Exit.Code)
	require.Equal(t, first.StartedAt.Unix(), again.StartedAt.Unix(), "it was not started again")

	next := verb(in, v1.VerbDeploy, 12)
	next.Ref.Attempt = 2
	second := h.must(contract.StepStart, next)
	require.NotEqual(t, first.RuntimeID, second.RuntimeID)
	require.Equal(t, 7, h.awaitExit("web").Code)

	h.must(contract.StepAcknowledge, next)
	require.Empty(t, h.containers())
	require.Len(t, h.volumes(), 1)
	h.must(contract.StepAcknowledge, next)
}

func TestTheLogOfAnEndedAttemptIsKept(t *testing.T) {
	h := newHost(t)
	in := request(job("echo one; echo two; exit 1"), 1, 10)
	h.must(contract.StepStart, in)
	h.awaitExit("web")
	h.must(contract.StepAcknowledge, in)
	require.Empty(t, h.containers())
	rec, err := h.store.Get("web")
	require.NoError(t, err)
	lines, err := h.rt.Logs(t.Context(), rec, 1)
	require.NoError(t, err)
	require.Equal(t, []string{"two"}, lines)

	h.must(contract.StepRemove, verb(in, v1.VerbRemove, 11))
	rec, err = h.store.Get("web")
	require.NoError(t, err)
	_, err = h.rt.Logs(t.Context(), rec, 1)
	require.Equal(t, v1.ReasonNotFound, contract.ReasonOf(err))
}

func TestJobThatRunsIsNotAcknowledged(t *testing.T) {
	h := newHost(t)
	spec := sleeper()
	spec.Type = v1.TypeJob
	in := request(spec, 1, 10)
	h.must(contract.StepStart, in)
	_, failure := h.do(contract.StepAcknowledge, in)
	require.NotNil(t, failure)
	require.Equal(t, contract.RunRunning, h.observe("web").State)
	out := h.must(contract.StepStart, verb(in, v1.VerbDeploy, 11))
	require.Nil(t, out.Exit)
	require.Len(t, h.containers(), 1)
}

func TestJobWhoseContainerIsGoneIsNotRunTwice(t *testing.T) {
	h := newHost(t)
	in := request(job("exit 0"), 1, 10)
	first := h.must(contract.StepStart, in)
	h.awaitExit("web")
	require.NoError(t, h.cl.ContainerRemove(t.Context(), first.RuntimeID, dc.RemoveOptions{Force: true}))

	out := h.must(contract.StepStart, in)
	require.NotNil(t, out.Exit)
	require.Equal(t, v1.ReasonUnknown, out.Exit.Outcome)
	require.Empty(t, h.containers())

	next := verb(in, v1.VerbDeploy, 11)
	next.Ref.Attempt = 2
	require.NotEmpty(t, h.must(contract.StepStart, next).RuntimeID, "the next attempt runs")
	h.must(contract.StepRemove, verb(in, v1.VerbRemove, 12))
	require.NotEmpty(t, h.must(contract.StepStart, verb(in, v1.VerbDeploy, 13)).RuntimeID, "and so does a later job of the name")
}

func TestJobThatCouldNotStartIsNoAttempt(t *testing.T) {
	h := newHost(t)
	spec := job("exit 0")
	spec.Command = []string{"/no/such/program"}
	in := request(spec, 1, 10)
	_, failure := h.do(contract.StepStart, in)
	require.NotNil(t, failure)
	_, failure = h.do(contract.StepStart, in)
	require.NotNil(t, failure)
	require.Equal(t, v1.ReasonInvalid, failure.Reason, "it is tried again, and not taken for one that ran")
}
