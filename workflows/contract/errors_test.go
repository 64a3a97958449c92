package contract_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// wire passes an error through Temporal's failure format, as a workflow gets it from an activity.
func wire(err error) error {
	c := temporal.GetDefaultFailureConverter()
	return c.FailureToError(c.ErrorToFailure(err))
}

func TestErrorsSurviveTheWire(t *testing.T) {
	for name, e := range map[string]*contract.Error{
		"permanent":   contract.Permanent(v1.ReasonDigestMismatch, "check it", "digest of %s", "x"),
		"retryable":   contract.Retryable(v1.ReasonFetchStalled, "", "no bytes for a minute"),
		"stale":       contract.StaleFence(3, 5),
		"with fields": {Reason: v1.ReasonImmutable, Message: "m", Fields: v1.FieldErrors{{Path: "spec.disks[0]", Message: "x"}}},
		"with step":   {Reason: v1.ReasonUnhealthy, Message: "m", Step: "AwaitReady"},
	} {
		t.Run(name, func(t *testing.T) {
			got := contract.FromActivityError(wire(contract.AsActivityError(e)))
			require.Equal(t, e, got)
		})
	}
}

func TestPermanentErrorsAreNotRetriedByTemporal(t *testing.T) {
	var app *temporal.ApplicationError
	require.ErrorAs(t, contract.AsActivityError(contract.Permanent(v1.ReasonImageNotFound, "", "no")), &app)
	require.True(t, app.NonRetryable())
	require.ErrorAs(t, contract.AsActivityError(contract.Retryable(v1.ReasonFetchFailed, "", "no")), &app)
	require.False(t, app.NonRetryable())
	wait := contract.Error{Reason: v1.ReasonFetchFailed, After: time.Minute}
	require.ErrorAs(t, contract.AsActivityError(&wait), &app)
	require.Equal(t, time.Minute, app.NextRetryDelay())
}

func TestTheCauseIsToldButNotNeeded(t *testing.T) {
	e := contract.Retryable(v1.ReasonFetchFailed, "", "fetch").WithCause(errors.New("connection refused"))
	got := contract.FromActivityError(wire(contract.AsActivityError(e)))
	require.Equal(t, "fetch: connection refused", got.Message)
	require.Equal(t, v1.ReasonFetchFailed, contract.ReasonOf(e))
}

func TestACancelSaysDuringWhichStep(t *testing.T) {
	got := contract.FromActivityError(wire(contract.Canceled("Create")))
	require.Equal(t, v1.ReasonSuperseded, got.Reason)
	require.Equal(t, "Create", got.Step)
	require.Empty(t, contract.FromActivityError(wire(temporal.NewCanceledError())).Step)
}

func TestForeignErrorsBecomeInternal(t *testing.T) {
	require.Nil(t, contract.FromActivityError(nil))
	require.Equal(t, v1.ReasonInternal, contract.FromActivityError(errors.New("boom")).Reason)
	require.Equal(t, v1.ReasonInternal, contract.FromActivityError(wire(temporal.NewApplicationError("boom", "panic"))).Reason)
}

func TestIDsAreTheirOwnInverse(t *testing.T) {
	name, ok := contract.WorkloadName(contract.WorkloadID("web"))
	require.True(t, ok)
	require.Equal(t, "web", name)
	_, ok = contract.WorkloadName(contract.ActionID("web", v1.VerbStop, 7))
	require.False(t, ok)
	host, ok := contract.HostName(contract.HostID("h1"))
	require.True(t, ok)
	require.Equal(t, "h1", host)
	_, ok = contract.HostName(contract.LeaseID("h1"))
	require.False(t, ok)
}

func TestRestartsAfter(t *testing.T) {
	exited := func(code int) contract.Exit { return contract.Exit{Code: code, Outcome: v1.ReasonExited} }
	policy := func(m v1.RestartMode, n int) *v1.RestartPolicy { return &v1.RestartPolicy{Policy: m, MaxRetries: n} }
	for name, c := range map[string]struct {
		policy   *v1.RestartPolicy
		exit     contract.Exit
		restarts int
		want     bool
	}{
		"default":                 {nil, exited(0), 99, true},
		"always":                  {policy(v1.RestartAlways, 0), exited(0), 99, true},
		"unless-stopped":          {policy(v1.RestartUnlessStopped, 0), exited(1), 99, true},
		"no":                      {policy(v1.RestartNo, 0), exited(1), 0, false},
		"no, interrupted":         {policy(v1.RestartNo, 0), contract.Exit{Outcome: v1.ReasonInterrupted}, 0, true},
		"on-failure, success":     {policy(v1.RestartOnFailure, 0), exited(0), 0, false},
		"on-failure, failure":     {policy(v1.RestartOnFailure, 0), exited(1), 99, true},
		"on-failure, retry left":  {policy(v1.RestartOnFailure, 2), exited(1), 1, true},
		"on-failure, none left":   {policy(v1.RestartOnFailure, 2), exited(1), 2, false},
		"on-failure, out of mem.": {policy(v1.RestartOnFailure, 0), contract.Exit{Outcome: v1.ReasonOutOfMemory}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, contract.RestartsAfter(c.policy, c.exit, c.restarts))
		})
	}
}

func TestObservationsAreOrderedByFenceThenLeaseThenSequence(t *testing.T) {
	o := func(fence, lease, seq int64) contract.Observation {
		return contract.Observation{Fence: fence, LeaseNo: lease, Seq: seq}
	}
	require.True(t, o(2, 0, 0).After(o(1, 9, 9)))
	require.True(t, o(1, 2, 0).After(o(1, 1, 9)))
	require.True(t, o(1, 1, 2).After(o(1, 1, 1)))
	require.False(t, o(1, 1, 1).After(o(1, 1, 1)))
}
