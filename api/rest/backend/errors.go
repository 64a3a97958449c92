package backend

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// completedTooSoon is the type of the failure with which the server ends an accepted update whose run closed first.
const completedTooSoon = "AcceptedUpdateCompletedWorkflow"

// noAnswer reports whether a call ended without anybody saying yes or no.
func noAnswer(err error) bool {
	var update *client.WorkflowUpdateServiceTimeoutOrCanceledError
	var deadline *serviceerror.DeadlineExceeded
	var canceled *serviceerror.Canceled
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.As(err, &update) || errors.As(err, &deadline) || errors.As(err, &canceled)
}

// cutShort reports whether an update met a run that ended, or failed a task, before it could answer. It was not carried
// out; the next try meets the next run, or none.
func cutShort(err error) bool {
	var app *temporal.ApplicationError
	var unready *serviceerror.WorkflowNotReady
	return (errors.As(err, &app) && app.Type() == completedTooSoon) || errors.As(err, &unready)
}

// closedUnder reports the same for an update-with-start, which is never NotFound for any other cause.
func closedUnder(err error) bool { return cutShort(err) || isNotFound(err) }

func isNotFound(err error) bool {
	var missing *serviceerror.NotFound
	return errors.As(err, &missing)
}

// fault turns what Temporal answered into an error for the user. What a workflow said itself passes through.
func fault(err error) error {
	var app *temporal.ApplicationError
	var own *contract.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own
	case errors.As(err, &app):
		return contract.FromActivityError(err)
	}
	var exhausted *serviceerror.ResourceExhausted
	if errors.As(err, &exhausted) {
		e := contract.Retryable(v1.ReasonTooManyRequests, "wait and try again", "the control plane is busy")
		e.After = time.Second
		return e.WithCause(err)
	}
	var bad *serviceerror.InvalidArgument
	if errors.As(err, &bad) {
		return contract.Permanent(v1.ReasonInvalid, "", "Temporal refused the request: %s", bad.Message)
	}
	e := contract.Retryable(v1.ReasonUnavailable, "check that the Temporal server runs, then repeat the request with the same Idempotency-Key",
		"the control plane cannot be reached")
	e.After = time.Second
	return e.WithCause(err)
}

// silence says that no worker answered in time.
func silence(within time.Duration, id string) error {
	e := contract.Retryable(v1.ReasonUnavailable,
		"check that a `berth server` runs, then repeat the request with the Idempotency-Key "+id,
		"no control worker answered within %s", within)
	e.After = time.Second
	return e
}
