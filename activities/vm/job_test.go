package vm_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/record"
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

func TestRestartBootsTheSameDomain(t *testing.T) {
	h := newHost(t, syntheticURI)
	w := blankGuest("web")
	deployed := h.begin(w, 1, v1.VerbDeploy).must(deploySteps...)
	restart := func() error {
		return h.runner.Restart(context.Background(), h.rt, "web", true, func(record.Record) bool { return true })
	}
	require.NoError(t, restart(), "it runs: nothing to do")
	require.NoError(t, h.driver.Destroy(context.Background(), h.domain("web")))
	require.NoError(t, restart())
	require.Equal(t, contract.RunRunning, h.observe("web").State)
	require.Contains(t, h.domainXML("web"), deployed.RuntimeID)

	require.NoError(t, h.driver.Destroy(context.Background(), h.domain("web")))
	require.NoError(t, h.driver.Undefine(context.Background(), h.domain("web"), false))
	require.Equal(t, v1.ReasonNotFound, contract.ReasonOf(restart()))
	require.Equal(t, contract.RunAbsent, h.observe("web").State)
}
