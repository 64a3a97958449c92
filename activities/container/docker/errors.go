package docker

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/client"

	"github.com/berth-dev/berth/activities/container"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// textMax bounds what Docker says where it stands in an error, in bytes.
const textMax = 600

// misfits are what Docker says, as failures of its own, where a user, a directory or a mount of the spec does not fit the
// image. No later attempt fares better.
var misfits = []string{
	"unable to find user", "unable to find group", "no matching entries in passwd file", "no matching entries in group file",
	"is not a directory", "is not directory", ": not a directory", "because it is not of type proc",
}

// classify says what an error of Docker means: that a thing does not exist, that Docker could not be asked, that it may be
// tried again, or that it is for good. It is the only place that knows Docker's errors. A cancel passes through.
func (d *Driver) classify(ctx context.Context, doing string, err error) error {
	var own *contract.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return err
	case errors.Is(context.Cause(ctx), errTimeout):
		return contract.Retryable(v1.ReasonRuntimeUnavailable, "it is tried again by itself; if it stays, look at dockerd",
			"Docker did not answer in time: %s", doing)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case client.IsErrConnectionFailed(err), isBroken(err), errdefs.IsUnavailable(err):
		return d.unavailable(ctx, doing, err)
	}
	text := said(err)
	fail := contract.Retryable(v1.ReasonRuntimeError, "it is tried again by itself; if it stays, look at dockerd's log", "Docker could not %s", doing)
	switch {
	case hasAny(text, "port is already allocated", "address already in use"):
		fail = contract.Retryable(v1.ReasonPortConflict, "free the port, or choose another one", "a port of the host is taken")
	case hasAny(text, "no space left on device", "disk quota exceeded"):
		fail = contract.Retryable(v1.ReasonDiskFull, "make room where Docker keeps its data", "Docker's disk is full")
	case hasAny(text, "bind: cannot assign requested address"):
		fail = contract.Retryable(v1.ReasonRuntimeError, "give the host that address, or choose another hostIP",
			"the host does not have the address of a port")
	case hasAny(text, misfits...):
		fail = contract.Permanent(v1.ReasonInvalid, "change the spec, or the image", "the image does not fit the spec: Docker could not %s", doing)
	case errdefs.IsNotFound(err):
		fail = contract.Retryable(v1.ReasonNotFound, "it is looked at again by itself", "Docker could not %s: it does not exist", doing)
	case errdefs.IsConflict(err) && strings.Contains(text, "is already in use by container"):
		return contract.Retryable(v1.ReasonRuntimeError, "rename or remove that container",
			"another container has the name").WithCause(errors.Join(container.ErrNameTaken, errors.New(text)))
	case errdefs.IsInvalidArgument(err):
		fail = contract.Permanent(v1.ReasonInvalid, "change the spec", "Docker refused to %s", doing)
	case errdefs.IsUnauthorized(err), errdefs.IsPermissionDenied(err):
		fail = contract.Permanent(v1.ReasonPolicyDenied, "look at how Docker on this host is secured", "Docker does not allow to %s", doing)
	}
	return fail.WithCause(errors.New(text))
}

// classifyStart says what an error of a start means.
func (d *Driver) classifyStart(ctx context.Context, err error) error {
	err = d.classify(ctx, "start the container", err)
	var e *contract.Error
	if errors.As(err, &e) && e.Reason == v1.ReasonRuntimeError && e.Cause != nil && strings.Contains(e.Cause.Error(), ": already exists") {
		return e.WithCause(errors.Join(container.ErrStuck, e.Cause))
	}
	return err
}

// classifyPull says what an error of a pull means.
func (d *Driver) classifyPull(ctx context.Context, ref string, err error) error {
	if err = d.classify(ctx, "pull "+ref, err); err == nil {
		return nil
	}
	var e *contract.Error
	if !errors.As(err, &e) || e.Reason == v1.ReasonRuntimeUnavailable || e.Reason == v1.ReasonDiskFull || e.Cause == nil {
		return err
	}
	text := e.Cause.Error()
	switch {
	case e.Reason == v1.ReasonInvalid:
		return contract.Permanent(v1.ReasonInvalid, "correct the image's name", "%q can't be pulled", ref).WithCause(e.Cause)
	case hasAny(text, "no matching manifest", "does not match the specified platform"):
		return contract.Permanent(v1.ReasonImageNotFound, "choose an image for this host's platform",
			"the image %s does not exist for this platform", ref).WithCause(e.Cause)
	case hasAny(text, "unauthorized", "authentication required", "no basic auth credentials") && e.Reason != v1.ReasonNotFound:
		return contract.Permanent(v1.ReasonImageNotFound, "load the image on the host, or make it public, and retry",
			"the registry wants a login for %s", ref).WithCause(e.Cause)
	case e.Reason == v1.ReasonNotFound, hasAny(text, "manifest unknown", "name unknown", "HTTP 404", "404 Not Found"):
		return contract.Permanent(v1.ReasonImageNotFound, "correct the image's name, or push it, and retry",
			"there is no image %s", ref).WithCause(e.Cause)
	default:
		return contract.Retryable(v1.ReasonFetchFailed, "it is tried again by itself; check the registry and the host's way to it",
			"%s can't be pulled", ref).WithCause(e.Cause)
	}
}

// unavailable says why Docker can't be reached. The client's error does not tell, so the socket is tried.
func (d *Driver) unavailable(ctx context.Context, doing string, err error) error {
	const reason = v1.ReasonRuntimeUnavailable
	path, isUnix := strings.CutPrefix(d.host, "unix://")
	if !isUnix {
		return contract.Retryable(reason, "start Docker, or correct its address", "Docker at %s can't be reached: %s", d.host, doing).WithCause(errors.New(said(err)))
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var dialer net.Dialer
	conn, dialErr := dialer.DialContext(ctx, "unix", path)
	switch {
	case dialErr == nil:
		_ = conn.Close()
		return contract.Retryable(reason, "it is tried again by itself", "Docker broke off: %s", doing).WithCause(errors.New(said(err)))
	case errors.Is(dialErr, fs.ErrNotExist):
		return contract.Retryable(reason, "install Docker, or start it", "Docker is not installed or not running: there is no %s", path)
	case errors.Is(dialErr, syscall.ECONNREFUSED):
		return contract.Retryable(reason, "start Docker", "Docker is down: nobody listens on %s", path)
	case errors.Is(dialErr, fs.ErrPermission):
		return contract.Retryable(reason, "run the agent as root or in the group docker", "the agent may not use %s", path)
	default:
		return contract.Retryable(reason, "look at dockerd", "Docker can't be reached at %s", path).WithCause(dialErr)
	}
}

// isBroken reports whether the connection broke in the middle of an answer.
func isBroken(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &op)
}

func hasAny(text string, parts ...string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// said is what Docker said, on one line and bounded.
func said(err error) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "")), " ")
	text = strings.TrimPrefix(text, "Error response from daemon: ")
	if len(text) > textMax {
		text = strings.ToValidUTF8(text[:textMax], "") + "…"
	}
	return text
}
