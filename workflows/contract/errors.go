package contract

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"

	v1 "github.com/berth-dev/berth/api/v1"
)

// Error is a failure with everything that a user needs: a reason, what was tried, and what to do. Drivers and activities
// return it; AsActivityError carries it through Temporal, and FailureFrom gets it back on the other side.
type Error struct {
	Reason  v1.Reason
	Message string
	// Advice says what to do about it.
	Advice string
	// Permanent failures are not tried again before a new spec or a retry.
	Permanent bool
	// Step is what was tried, for example "Prepare".
	Step string
	// Fields names the fields of a spec that were refused.
	Fields v1.FieldErrors
	// Seen is the fence that the host had seen, with ReasonStaleFence.
	Seen int64
	// After asks for the next attempt no sooner than this, if it is not zero.
	After time.Duration
	// Guess is true if the failure rests on a list, which may be behind: whatever it says may have changed already, and
	// nobody will tell.
	Guess bool
	Cause error
}

// Error returns the reason, the message and the cause. It never holds a secret: a cause that might is not set.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Reason, e.Message, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Reason, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Permanent returns an error that is not tried again.
func Permanent(reason v1.Reason, advice, format string, args ...any) *Error {
	return &Error{Reason: reason, Advice: advice, Message: fmt.Sprintf(format, args...), Permanent: true}
}

// Retryable returns an error that is tried again.
func Retryable(reason v1.Reason, advice, format string, args ...any) *Error {
	return &Error{Reason: reason, Advice: advice, Message: fmt.Sprintf(format, args...)}
}

// StaleFence says that a host has seen a higher fence than the caller's, or that the caller's action is finished there.
func StaleFence(own, seen int64) *Error {
	return &Error{
		Reason: v1.ReasonStaleFence, Seen: seen, Permanent: true,
		Message: fmt.Sprintf("fence %d is stale: the host has seen %d", own, seen),
		Advice:  "nothing to do: a later action has taken over",
	}
}

// WithCause returns a copy of e that carries the cause.
func (e *Error) WithCause(cause error) *Error {
	c := *e
	c.Cause = cause
	return &c
}

// ReasonOf returns the reason of an Error anywhere in the chain, or ReasonNone.
func ReasonOf(err error) v1.Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return v1.ReasonNone
}

// wireDetails is what an application error carries beside its type (the reason) and message. With a codec it is
// encrypted like every payload.
type wireDetails struct {
	Advice    string         `json:"advice,omitempty"`
	Permanent bool           `json:"permanent,omitempty"`
	Step      string         `json:"step,omitempty"`
	Seen      int64          `json:"seen,omitempty"`
	Fields    v1.FieldErrors `json:"fields,omitempty"`
	Guess     bool           `json:"guess,omitempty"`
}

// AsActivityError turns an error into what an activity returns to Temporal. Errors of other types pass through.
func AsActivityError(err error) error {
	var e *Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	message := e.Message
	if e.Cause != nil {
		message += ": " + e.Cause.Error()
	}
	return temporal.NewApplicationErrorWithOptions(message, string(e.Reason), temporal.ApplicationErrorOptions{
		NonRetryable:   e.Permanent,
		NextRetryDelay: e.After,
		Details: []any{wireDetails{
			Advice: e.Advice, Permanent: e.Permanent, Step: e.Step, Seen: e.Seen, Fields: e.Fields, Guess: e.Guess,
		}},
	})
}

// Canceled is what an action returns when it was cancelled during a step.
func Canceled(step string) error { return temporal.NewCanceledError(step) }

// FromActivityError is the inverse of AsActivityError: it finds the Error in what a workflow got from an activity or a
// child workflow. A timeout or any other error becomes one with a reason of its own.
func FromActivityError(err error) *Error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		e := &Error{Reason: v1.Reason(app.Type()), Message: app.Message()}
		var d wireDetails
		if app.HasDetails() && app.Details(&d) == nil {
			e.Advice, e.Permanent, e.Step, e.Seen, e.Fields, e.Guess = d.Advice, d.Permanent, d.Step, d.Seen, d.Fields, d.Guess
		} else {
			e.Reason = v1.ReasonInternal
			e.Advice = "look at the action in the Temporal Web UI"
		}
		return e
	}
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) {
		return Retryable(v1.ReasonUnavailable, "check that the host's agent runs",
			"a step timed out (%s): no sign of life from the host's agent", timeout.TimeoutType())
	}
	var canceled *temporal.CanceledError
	if errors.As(err, &canceled) {
		e := Retryable(v1.ReasonSuperseded, "", "superseded by a later request")
		if canceled.HasDetails() {
			_ = canceled.Details(&e.Step) // without it the step is unknown, which is the careful reading
		}
		return e
	}
	return Retryable(v1.ReasonInternal, "look at the action in the Temporal Web UI", "%v", err)
}
