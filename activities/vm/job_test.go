package vm_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestJobEndsWithItsGuest(t *testing.T) {
	h := newHost(t, syntheticURI)
	w := blankGuest("job")
	w.VM.Type = v1.TypeJob
	first := h.begin(w, 1, v1.VerbDeploy)
	first.ref.Attempt = 1
	first.must(deploySteps...)
	require.NoError(t, h.driver.Shutdown(context.Background(), h.domain("job")))
	o := h.observe("job")
	require.Equal(t, contract.RunExited, o.State)
	require.Equal(t, 1, o.Attempt)
	require.Equal(t, 0, o.Exit.Code)
	require.Equal(t, v1.ReasonExited, o.Exit.Outcome)

	first.step(contract.StepAcknowledge)
	require.Equal(t, contract.RunAbsent, h.observe("job").State)
	require.Contains(t, h.files("job"), "disk-root.qcow2", "for the next attempt")

	second := h.begin(w, 1, v1.VerbRetry)
	second.ref.Attempt = 2
	for _, s := range deploySteps[:3] {
		require.Nil(t, second.step(s).Exit)
	}
	require.NoError(t, h.driver.Shutdown(context.Background(), h.domain("job")))
	require.Equal(t, 0, second.step(contract.StepStart).Exit.Code, "it is not started twice")
	require.Equal(t, 0, second.must(contract.StepAwaitReady).Exit.Code)
}

func TestLateAcknowledgeLeavesTheNextAttempt(t *testing.T) {
	h := newHost(t, syntheticURI)
	w := blankGuest("job")
	w.VM.Type = v1.TypeJob
	first := h.begin(w, 1, v1.VerbDeploy)
	first.ref.Attempt = 1
	first.must(deploySteps...)
	require.NoError(t, h.driver.Shutdown(context.Background(), h.domain("job")))
	second := h.begin(w, 1, v1.VerbRetry)
	second.ref.Attempt = 2
	second.must(deploySteps...)
	late := h.begin(w, 1, v1.VerbDeploy)
	late.ref.Fence, late.ref.Attempt = second.ref.Fence, 1
	require.Equal(t, "another attempt", late.step(contract.StepAcknowledge).Found)
	require.Equal(t, contract.RunRunning, h.observe("job").State)
}

func TestServiceThatEndsIsNotReady(t *testing.T) {
	h := newHost(t, syntheticURI)
	w := blankGuest("web")
	w.VM.Readiness = &v1.Readiness{When: v1.ReadyAgent} // which there is none of
	deploy := h.begin(w, 1, v1.VerbDeploy)
	for _, s := range deploySteps[:3] {
		deploy.step(s)
	}
	require.NoError(t, h.driver.Destroy(context.Background(), h.domain("web")))
	_, err := deploy.run(contract.StepAwaitReady, true)
	requireReason(t, v1.ReasonExited, false, err)

	w.VM.BootTimeout = v1.Duration(300 * time.Millisecond)
	late := h.begin(w, 1, v1.VerbDeploy)
	for _, s := range deploySteps[:3] {
		late.step(s)
	}
	_, err = late.run(contract.StepAwaitReady, true)
	requireReason(t, v1.ReasonBootTimeout, false, err)
}

// restarts lets the runner run Restart as it runs Start.
type restarts struct{ step.Runtime }

func (r restarts) Steps() map[contract.Step]step.Func {
	return map[contract.Step]step.Func{contract.StepStart: func(ctx context.Context, c *step.Call) (contract.StepOut, error) {
		return contract.StepOut{}, r.Restart(ctx, c)
	}}
}

func TestRestartBootsTheSameDomain(t *testing.T) {
	h := newHost(t, syntheticURI)
	w := blankGuest("web")
	deployed := h.begin(w, 1, v1.VerbDeploy).must(deploySteps...)
	again := h.begin(w, 1, v1.VerbStart)
	again.rt = restarts{h.rt}
	again.step(contract.StepStart) // it runs: nothing to do
	require.NoError(t, h.driver.Destroy(context.Background(), h.domain("web")))
	again.step(contract.StepStart)
	require.Equal(t, contract.RunRunning, h.observe("web").State)
	require.Contains(t, h.domainXML("web"), deployed.RuntimeID)

	h.begin(w, 1, v1.VerbRemove).must(contract.StepRemove)
	gone := h.begin(w, 1, v1.VerbStart)
	gone.rt = restarts{h.rt}
	_, err := gone.run(contract.StepStart, false)
	requireReason(t, v1.ReasonNotFound, false, err)
}
