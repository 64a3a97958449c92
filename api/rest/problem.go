package rest

import (
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// problemBase precedes the reason in a problem's type.
const problemBase = "urn:berth:problem:"

// statusError is an error whose HTTP status does not follow from its reason.
type statusError struct {
	cause  *contract.Error
	status int
}

// Error is that of the error below, which Unwrap returns.
func (e statusError) Error() string { return e.cause.Error() }
func (e statusError) Unwrap() error { return e.cause }

var (
	errNoRoute  = statusError{contract.Permanent(v1.ReasonNotFound, "see the API's document, api/openapi.yaml", "there is nothing at this path"), http.StatusNotFound}
	errNoMethod = statusError{contract.Permanent(v1.ReasonInvalid, "", "this path does not know this method"), http.StatusMethodNotAllowed}
	errTooLarge = statusError{contract.Permanent(v1.ReasonInvalid, "", "the body is larger than %d bytes", MaxBodyBytes), http.StatusRequestEntityTooLarge}
)

// statusOf is the HTTP status of each reason that an answer can have.
func statusOf(reason v1.Reason) int {
	switch reason {
	case v1.ReasonInvalid, v1.ReasonImmutable, v1.ReasonImageInvalid, v1.ReasonPolicyDenied:
		return http.StatusUnprocessableEntity
	case v1.ReasonUnauthorized:
		return http.StatusUnauthorized
	case v1.ReasonForbidden:
		return http.StatusForbidden
	case v1.ReasonNotFound:
		return http.StatusNotFound
	case v1.ReasonAlreadyRemoving, v1.ReasonSuperseded, v1.ReasonStaleFence, v1.ReasonPortConflict, v1.ReasonSweepRunning:
		return http.StatusConflict
	case v1.ReasonGenerationMismatch:
		return http.StatusPreconditionFailed
	case v1.ReasonTooManyRequests:
		return http.StatusTooManyRequests
	case v1.ReasonUnavailable, v1.ReasonHostOffline, v1.ReasonHostLost, v1.ReasonRuntimeUnavailable, v1.ReasonNoCapacity:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// problemOf turns any error into what the user is told. Causes stay in the logs, and so does everything about an error
// that nobody classified.
func problemOf(err error) v1.Problem {
	var fields v1.FieldErrors
	if errors.As(err, &fields) {
		reason := fields.Reason()
		return v1.Problem{
			Title: titleOf(statusOf(reason), reason), Status: statusOf(reason), Reason: reason, Errors: fields, Detail: fields[0].Error(),
			Advice: "correct the fields named in errors",
		}
	}
	var own *contract.Error
	if !errors.As(err, &own) {
		own = contract.Retryable(v1.ReasonInternal, "look for the request id in the server's logs", "the server failed")
	}
	status := statusOf(own.Reason)
	var fixed statusError
	if errors.As(err, &fixed) {
		status = fixed.status
	}
	return v1.Problem{
		Title: titleOf(status, own.Reason), Status: status, Reason: own.Reason, Detail: own.Message, Advice: own.Advice,
		Errors: own.Fields,
	}
}

func titleOf(status int, reason v1.Reason) string {
	if text := http.StatusText(status); text != "" {
		return text
	}
	return string(reason)
}

// writeProblem answers with a problem, and leaves the error for the access log.
func writeProblem(c *gin.Context, err error) {
	_ = c.Error(err)
	p := problemOf(err)
	p.Type, p.RequestID = problemBase+string(p.Reason), c.GetString(keyRequestID)
	if p.Status == http.StatusTooManyRequests || p.Status == http.StatusServiceUnavailable {
		c.Header("Retry-After", retryAfter(err))
	}
	if p.Status == http.StatusUnauthorized {
		c.Header("WWW-Authenticate", `Bearer realm="berth"`)
	}
	c.Header("Content-Type", "application/problem+json")
	c.AbortWithStatusJSON(p.Status, p)
}

// retryAfter is in whole seconds, at least one.
func retryAfter(err error) string {
	var own *contract.Error
	seconds := 1.0
	if errors.As(err, &own) {
		seconds = max(seconds, math.Ceil(own.After.Seconds()))
	}
	return strconv.Itoa(int(seconds))
}

// invalid is a mistake in a parameter.
func invalid(name, message string) v1.FieldErrors {
	return v1.FieldErrors{{Path: v1.Path(name), Reason: v1.ReasonInvalid, Message: message}}
}
