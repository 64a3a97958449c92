package vm_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/record"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// follow watches the host's domains until the test ends.
func (h *host) follow() {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	listens, over := make(chan string, 1024), make(chan error, 1)
	go func() { over <- h.rt.Watch(ctx, func(workload string) { listens <- workload }) }()
	require.Empty(h.t, receive(h.t, listens))
	h.t.Cleanup(func() { cancel(); require.Error(h.t, <-over) })
}

func (h *host) mend(workload string) string {
	h.t.Helper()
	done, err := h.runner.Mend(context.Background(), h.rt, workload, func(record.Record) bool { return true })
	require.NoError(h.t, err)
	return done
}

// A domain that is undefined while it runs vanishes with its end: how that came is known all the same.
func TestAJobWhoseDomainWasUndefinedEndsAsItEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(h *host) error
		code int
		why  v1.Reason
	}{
		"its guest powers off": {func(h *host) error { return h.driver.Shutdown(context.Background(), h.domain("job")) }, 0, v1.ReasonExited},
		"it is destroyed":      {func(h *host) error { return h.driver.Destroy(context.Background(), h.domain("job")) }, 137, v1.ReasonInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, syntheticURI)
			h.follow()
			w := blankGuest("job")
			w.VM.Type = v1.TypeJob
			first := h.begin(w, 1, v1.VerbDeploy)
			first.ref.Attempt = 1
			first.must(deploySteps...)
			began := time.Now()
			require.NoError(t, h.driver.Undefine(context.Background(), h.domain("job"), false))
			require.NoError(t, tc.end(h))
			o := h.observe("job")
			require.Equal(t, contract.RunExited, o.State)
			require.Equal(t, tc.code, o.Exit.Code)
			require.Equal(t, tc.why, o.Exit.Outcome)
			require.WithinRange(t, o.Exit.At, began, time.Now())
			require.False(t, o.StartedAt.IsZero())
			first.step(contract.StepAcknowledge)
		})
	}
}

// The same with a real guest, which hears the power button.
func TestAGuestWhoseDomainWasUndefinedPowersOff(t *testing.T) {
	h := newHost(t, realURI)
	h.follow()
	w := smallGuest("job", h.guestImage())
	w.VM.Type = v1.TypeJob
	first := h.begin(w, 1, v1.VerbDeploy)
	first.ref.Attempt = 1
	first.must(deploySteps...)
	require.NoError(t, h.driver.Undefine(context.Background(), h.domain("job"), false))
	require.Eventually(t, func() bool {
		if o := h.observe("job"); o.State == contract.RunExited {
			return o.Exit.Code == 0 && o.Exit.Outcome == v1.ReasonExited
		}
		_ = h.driver.Shutdown(context.Background(), h.domain("job")) // early ones get lost
		return false
	}, 5*time.Minute, time.Second)
	h.begin(w, 1, v1.VerbRemove).must(contract.StepRemove)
}

// What nobody has heard of stays unknown, and what an earlier attempt did is not taken for it.
func TestAJobThatIsGoneWithoutNewsIsAbsent(t *testing.T) {
	h := newHost(t, syntheticURI)
	h.follow()
	w := blankGuest("job")
	w.VM.Type = v1.TypeJob
	first := h.begin(w, 1, v1.VerbDeploy)
	first.ref.Attempt = 1
	first.must(deploySteps...)
	require.NoError(t, h.driver.Shutdown(context.Background(), h.domain("job")))
	require.Equal(t, contract.RunExited, h.observe("job").State)
	first.step(contract.StepAcknowledge)
	second := h.begin(w, 1, v1.VerbRetry)
	second.ref.Attempt = 2
	second.must(deploySteps...)
	rec, err := h.store.Get("job")
	require.NoError(t, err)
	blind := h.another()
	require.NoError(t, h.driver.Undefine(context.Background(), h.domain("job"), false))
	require.NoError(t, h.driver.Destroy(context.Background(), h.domain("job")))
	o, err := blind.Observe(context.Background(), rec)
	require.NoError(t, err)
	require.Equal(t, contract.RunAbsent, o.State)
}

// A guest runs on through all of it, and is then started again as any other.
func TestAnUndefinedDomainIsDefinedAgainAsItRuns(t *testing.T) {
	h := newHost(t, realURI)
	w := smallGuest("web", h.guestImage())
	w.VM.Networks = []v1.Network{{Network: h.network()}}
	w.VM.StopGracePeriod = v1.Duration(time.Second)
	h.begin(w, 1, v1.VerbDeploy).must(deploySteps...)
	defined := h.domainXML("web")
	require.Empty(t, h.observe("web").Findings)
	require.Empty(t, h.mend("web"), "nothing is wrong")

	require.NoError(t, h.driver.Undefine(context.Background(), h.domain("web"), false))
	o := h.observe("web")
	require.Equal(t, contract.RunRunning, o.State)
	require.True(t, o.Mend)
	require.Equal(t, v1.ReasonUndefined, o.Findings[0].Reason)
	require.NotEmpty(t, h.mend("web"))
	o = h.observe("web")
	require.False(t, o.Mend)
	require.Empty(t, o.Findings)
	require.Equal(t, contract.RunRunning, o.State)
	require.Equal(t, defined, h.domainXML("web"))

	require.NoError(t, h.driver.Destroy(context.Background(), h.domain("web")))
	require.Equal(t, contract.RunExited, h.observe("web").State)
	require.NoError(t, h.runner.Restart(context.Background(), h.rt, "web", true, func(record.Record) bool { return true }))
	require.Equal(t, contract.RunRunning, h.observe("web").State)
	h.begin(w, 1, v1.VerbRemove).must(contract.StepRemove)
}

// Whoever else has a domain of that name does as he likes with it.
func TestAStrangersUndefinedDomainIsLeftAlone(t *testing.T) {
	h := newHost(t, syntheticURI)
	w := blankGuest("web")
	h.begin(w, 1, v1.VerbDeploy).must(deploySteps...)
	require.NoError(t, h.driver.Undefine(context.Background(), h.domain("web"), false))
	rec, err := h.store.Get("web")
	require.NoError(t, err)
	rec.Fence-- // the domain is of a later action than the record
	require.NoError(t, h.store.Put(rec))
	require.Empty(t, h.mend("web"))
	o := h.observe("web")
	require.False(t, o.Mend)
	require.Len(t, o.Findings, 1)
}

// Who defines a domain anew and leaves its mark out has made it another's: nothing is done to it, and that shows.
func TestADomainThatHasLostItsMarkIsTold(t *testing.T) {
	h := newHost(t, syntheticURI)
	h.begin(blankGuest("web"), 1, v1.VerbDeploy).must(deploySteps...)
	marked := h.domainXML("web")
	from, to := strings.Index(marked, "<metadata>"), strings.Index(marked, "</metadata>")
	require.Positive(t, from)
	bare := marked[:from] + marked[to+len("</metadata>"):]
	require.NoError(t, h.driver.Define(context.Background(), h.domain("web"), bare))
	require.NoError(t, h.driver.Destroy(context.Background(), h.domain("web")))
	o := h.observe("web")
	require.Equal(t, contract.RunUnobservable, o.State)
	require.Len(t, o.Findings, 1)
	require.Equal(t, v1.ReasonPolicyDenied, o.Findings[0].Reason)
	require.False(t, o.Mend)

	require.NoError(t, h.driver.Define(context.Background(), h.domain("web"), marked))
	require.Equal(t, contract.RunExited, h.observe("web").State)
}
