package container_test

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func healthy(spec *v1.ContainerSpec, command ...string) *v1.ContainerSpec {
	spec.HealthCheck = &v1.HealthCheck{
		Command: command, Interval: v1.Duration(200 * time.Millisecond), Timeout: v1.Duration(time.Minute), Retries: 2,
	}
	return spec
}

func TestReadyWhenHealthy(t *testing.T) {
	h := newHost(t)
	spec := healthy(sleeper(), "/bin/busybox", "test", "-e", "/tmp/up")
	spec.HealthCheck.StartPeriod = v1.Duration(time.Hour)
	in := request(spec, 1, 10)
	h.must(contract.StepStart, in)
	require.Equal(t, contract.RunStarting, h.observe("web").State)
	out, err := exec.CommandContext(t.Context(), "docker", "exec", h.containers()[0].ID, "/bin/busybox", "touch", "/tmp/up").CombinedOutput()
	require.NoError(t, err, "%s", out)
	h.must(contract.StepAwaitReady, in)
	require.Equal(t, contract.RunRunning, h.observe("web").State)
}

func TestUnhealthy(t *testing.T) {
	h := newHost(t)
	spec := healthy(sleeper(), "/bin/busybox", "cat", "/tmp/hunter2hunter2")
	spec.Env = map[string]string{"PASSWORD": "hunter2hunter2"}
	in := request(spec, 1, 10)
	h.must(contract.StepStart, in)
	_, failure := h.do(contract.StepAwaitReady, in)
	require.NotNil(t, failure)
	require.Equal(t, v1.ReasonUnhealthy, failure.Reason)
	require.False(t, failure.Permanent)
	require.Contains(t, failure.Message, "can't open '/tmp/***'", "what the check said, without values of the environment")
	require.NotContains(t, failure.Message, "hunter2")
	require.Equal(t, contract.RunUnhealthy, h.observe("web").State)
}

func TestNotHealthyInTime(t *testing.T) {
	h := newHost(t)
	spec := healthy(sleeper(), "/bin/busybox", "false")
	spec.HealthCheck.StartPeriod = v1.Duration(time.Hour)
	spec.HealthCheck.ReadyTimeout = v1.Duration(time.Second)
	in := request(spec, 1, 10)
	h.must(contract.StepStart, in)
	_, failure := h.do(contract.StepAwaitReady, in)
	require.NotNil(t, failure)
	require.Equal(t, v1.ReasonUnhealthy, failure.Reason)
	require.Contains(t, failure.Message, "within 1s")
}

func TestExitsWhileItBecomesReady(t *testing.T) {
	h := newHost(t)
	spec := healthy(shell(`busybox sleep 1; echo "no database at db:5432" >&2; exit 3`), "/bin/busybox", "false")
	spec.HealthCheck.StartPeriod = v1.Duration(time.Hour)
	in := request(spec, 1, 10)
	h.must(contract.StepStart, in)
	_, failure := h.do(contract.StepAwaitReady, in)
	require.NotNil(t, failure)
	require.Equal(t, v1.ReasonExited, failure.Reason)
	require.False(t, failure.Permanent)
	require.Contains(t, failure.Message, "code 3: no database at db:5432")
}

func TestServiceThatIsNotRestartedMayEnd(t *testing.T) {
	h := newHost(t)
	spec := shell("exit 4")
	spec.Restart = &v1.RestartPolicy{Policy: v1.RestartNo}
	in := request(spec, 1, 10)
	h.must(contract.StepStart, in)
	require.Eventually(t, func() bool { return h.observe("web").State == contract.RunExited }, 2*time.Minute, 20*time.Millisecond)
	out := h.must(contract.StepAwaitReady, in)
	require.NotNil(t, out.Exit)
	require.Equal(t, 4, out.Exit.Code)
}

func TestOutOfMemory(t *testing.T) {
	h := newHost(t)
	spec := shell(`x=0123456789; while :; do x="$x$x"; done`)
	spec.Resources = v1.Resources{Memory: 16 << 20, MemorySwap: 16 << 20}
	in := request(spec, 1, 10)
	_, _ = h.do(contract.StepStart, in) // it may be over before the step looks
	require.Eventually(t, func() bool { return h.observe("web").State == contract.RunExited }, 2*time.Minute, 20*time.Millisecond)
	exit := h.observe("web").Exit
	require.Equal(t, 137, exit.Code)
	require.Equal(t, v1.ReasonOutOfMemory, exit.Outcome)
	_, failure := h.do(contract.StepAwaitReady, in)
	require.NotNil(t, failure)
	require.Equal(t, v1.ReasonOutOfMemory, failure.Reason)
}

func TestCommandThatIsNotInTheImage(t *testing.T) {
	h := newHost(t)
	spec := sleeper()
	spec.Command = []string{"/no/such/program"}
	_, failure := h.do(contract.StepStart, request(spec, 1, 10))
	require.NotNil(t, failure)
	require.Equal(t, v1.ReasonInvalid, failure.Reason)
	require.True(t, failure.Permanent)
	require.Contains(t, failure.Message, "/no/such/program")
	require.Empty(t, h.containers(), "what can't start does not hold the name")
}

func TestLogs(t *testing.T) {
	h := newHost(t)
	in := request(shell(`for i in 1 2 3; do echo "out $i"; done; busybox sleep 0.2; echo "err 4" >&2; while :; do busybox sleep 0.1; done`), 1, 10)
	in.Spec.Container.StopGracePeriod = v1.Duration(time.Second)
	h.deploy(in)
	rec, err := h.store.Get("web")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		lines, err := h.rt.Logs(t.Context(), rec, 2)
		return err == nil && len(lines) == 2 && lines[0] == "out 3" && lines[1] == "err 4"
	}, 2*time.Minute, 50*time.Millisecond)
	lines, err := h.rt.Logs(t.Context(), rec, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"out 1", "out 2", "out 3", "err 4"}, lines)
}
