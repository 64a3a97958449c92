package libvirt

import (
	"context"
	"errors"
	"strings"

	golibvirt "github.com/digitalocean/go-libvirt"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	adviceDown   = "check that libvirtd and virtlogd run and that the agent may use libvirt's socket"
	adviceRetry  = "it is tried again by itself; if it stays, look at libvirt's and QEMU's logs"
	adviceDomain = "check the specification against what this host's libvirt and QEMU support"
)

// classify turns what libvirt or its connection said into an error that says whether trying again can help. It is the
// only place that knows libvirt's error codes. doing completes "cannot …".
func classify(doing string, err error) error {
	var own *contract.Error
	if err == nil || errors.As(err, &own) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var answer golibvirt.Error
	if !errors.As(err, &answer) {
		// No answer at all: the connection could not be made, or broke. What became of the call is not known.
		return contract.Retryable(v1.ReasonRuntimeUnavailable, adviceDown, "cannot %s: libvirt does not answer", doing).
			WithCause(brief{err})
	}
	return fromAnswer(doing, answer).WithCause(brief{err})
}

func fromAnswer(doing string, answer golibvirt.Error) *contract.Error {
	e := contract.Retryable(v1.ReasonRuntimeError, adviceRetry, "cannot %s", doing)
	switch golibvirt.ErrorNumber(answer.Code) { //nolint:exhaustive // what is not listed may pass by itself
	case golibvirt.ErrNoDomain, golibvirt.ErrNoNetwork:
		e = contract.Permanent(v1.ReasonNotFound, "", "cannot %s: it does not exist", doing)
	case golibvirt.ErrNoConnect, golibvirt.ErrInvalidConn, golibvirt.ErrRPC, golibvirt.ErrNoServer,
		golibvirt.ErrAuthFailed, golibvirt.ErrAuthUnavailable, golibvirt.ErrAuthCancelled, golibvirt.ErrAccessDenied,
		golibvirt.ErrOperationTimeout:
		e = contract.Retryable(v1.ReasonRuntimeUnavailable, adviceDown, "cannot %s", doing)
	case golibvirt.ErrXMLError, golibvirt.ErrXMLDetail, golibvirt.ErrXMLInvalidSchema, golibvirt.ErrConfSyntax,
		golibvirt.ErrConfigUnsupported, golibvirt.ErrOperationUnsupported, golibvirt.ErrNoSupport,
		golibvirt.ErrArgumentUnsupported, golibvirt.ErrInvalidArg, golibvirt.ErrInvalidMac:
		e = contract.Permanent(v1.ReasonRuntimeError, adviceDomain, "cannot %s", doing)
	}
	switch said := answer.Message; {
	case strings.Contains(said, "No space left on device"), strings.Contains(said, "Disk quota exceeded"):
		e = contract.Retryable(v1.ReasonDiskFull, "make room on the host's disk", "cannot %s", doing)
	case strings.Contains(said, "Cannot allocate memory"):
		e = contract.Retryable(v1.ReasonNoCapacity, "free memory on the host, or ask for less", "cannot %s", doing)
	case strings.Contains(said, `Failed to get "write" lock`), strings.Contains(said, `Failed to get shared "write" lock`):
		e = contract.Retryable(v1.ReasonRuntimeError, "stop what else uses the disk", "cannot %s: a disk is in use", doing)
	}
	return e
}

// invalidState reports whether libvirt refused a call because the domain is already in, or not in, some state.
func invalidState(err error) bool { return isCode(err, golibvirt.ErrOperationInvalid) }

// refusedFlags reports whether a hypervisor refused a call because it does not know its flags.
func refusedFlags(err error) bool { return isCode(err, golibvirt.ErrInvalidArg) }

func isCode(err error, code golibvirt.ErrorNumber) bool {
	var answer golibvirt.Error
	return errors.As(err, &answer) && golibvirt.ErrorNumber(answer.Code) == code
}

// brief shows an error on one line of bounded length: libvirt quotes QEMU's whole output.
type brief struct{ error }

const briefLength = 300

func (b brief) Error() string {
	s := strings.Join(strings.Fields(b.error.Error()), " ")
	if len(s) > briefLength {
		s = strings.ToValidUTF8(s[:briefLength], "") + "…"
	}
	return s
}

func (b brief) Unwrap() error { return b.error }
