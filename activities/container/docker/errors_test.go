package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/container"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestClassify(t *testing.T) {
	d, err := New("tcp://127.0.0.1:1")
	require.NoError(t, err)
	docker := func(kind error, text string) error {
		return fmt.Errorf("Error response from daemon: %s: %w", text, kind)
	}
	for name, test := range map[string]struct {
		err       error
		reason    v1.Reason
		permanent bool
	}{
		"gone":          {docker(errdefs.ErrNotFound, "No such container"), v1.ReasonNotFound, false},
		"bad input":     {docker(errdefs.ErrInvalidArgument, "bad parameter"), v1.ReasonInvalid, true},
		"port taken":    {docker(errdefs.ErrInternal, "Bind for 0.0.0.0:80 failed: port is already allocated"), v1.ReasonPortConflict, false},
		"port in use":   {docker(errdefs.ErrInternal, "listen tcp4 0.0.0.0:22: bind: address already in use"), v1.ReasonPortConflict, false},
		"disk full":     {docker(errdefs.ErrInternal, "write /x: no space left on device"), v1.ReasonDiskFull, false},
		"name taken":    {docker(errdefs.ErrConflict, `The container name "/a" is already in use by container "b"`), v1.ReasonRuntimeError, false},
		"in use":        {docker(errdefs.ErrConflict, "volume is in use"), v1.ReasonRuntimeError, false},
		"not allowed":   {docker(errdefs.ErrPermissionDenied, "authorization denied by plugin"), v1.ReasonPolicyDenied, true},
		"starting":      {docker(errdefs.ErrUnavailable, "try later"), v1.ReasonRuntimeUnavailable, false},
		"broke off":     {io.ErrUnexpectedEOF, v1.ReasonRuntimeUnavailable, false},
		"no such user":  {docker(errdefs.ErrInternal, "unable to find user app: no matching entries in passwd file"), v1.ReasonInvalid, true},
		"no such group": {docker(errdefs.ErrInternal, "unable to find group app: no matching entries in group file"), v1.ReasonInvalid, true},
		"file as dir":   {docker(errdefs.ErrInternal, "Cannot mkdir: /etc/passwd is not a directory"), v1.ReasonInvalid, true},
		"file in path":  {docker(errdefs.ErrInternal, "lstat /merged/bin/sh/x: not a directory"), v1.ReasonInvalid, true},
		"file as mount": {docker(errdefs.ErrInternal, "source /merged/etc/passwd is not directory"), v1.ReasonInvalid, true},
		"over proc":     {docker(errdefs.ErrInternal, `"/merged/proc" cannot be mounted because it is not of type proc`), v1.ReasonInvalid, true},
		"no address":    {docker(errdefs.ErrInternal, "listen tcp4 203.0.113.9:80: bind: cannot assign requested address"), v1.ReasonRuntimeError, false},
		"anything else": {docker(errdefs.ErrInternal, "boom"), v1.ReasonRuntimeError, false},
		"already ours":  {contract.Permanent(v1.ReasonImmutable, "", "x"), v1.ReasonImmutable, true},
	} {
		t.Run(name, func(t *testing.T) {
			err := d.classify(t.Context(), "do it", test.err)
			var e *contract.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, test.reason, e.Reason)
			require.Equal(t, test.permanent, e.Permanent)
			require.NotContains(t, err.Error(), "Error response from daemon")
			require.Equal(t, name == "name taken", errors.Is(err, container.ErrNameTaken))
		})
	}
	require.NoError(t, d.classify(t.Context(), "do it", nil))
}

func TestClassifyStart(t *testing.T) {
	d, err := New("tcp://127.0.0.1:1")
	require.NoError(t, err)
	for text, stuck := range map[string]bool{
		"failed to create task for container: task 81ea000c02db: already exists: unknown": true,
		"failed to create task for container: mkdir /x: permission denied":                false,
	} {
		err := d.classifyStart(t.Context(), fmt.Errorf("Error response from daemon: %s: %w", text, errdefs.ErrInternal))
		require.Equal(t, v1.ReasonRuntimeError, contract.ReasonOf(err))
		require.Equal(t, stuck, errors.Is(err, container.ErrStuck), text)
		require.ErrorContains(t, errors.Unwrap(err), text)
	}
	require.NoError(t, d.classifyStart(t.Context(), nil))
}

func TestClassifyTellsATimeoutFromACancel(t *testing.T) {
	d, err := New("")
	require.NoError(t, err)
	slow, cancel := context.WithTimeoutCause(t.Context(), time.Nanosecond, errTimeout)
	defer cancel()
	<-slow.Done()
	require.Equal(t, v1.ReasonRuntimeUnavailable, contract.ReasonOf(d.classify(slow, "do it", slow.Err())))

	why := contract.StaleFence(1, 2)
	cancelled, stop := context.WithCancelCause(t.Context())
	stop(why)
	inner, cancel := reading(cancelled)
	defer cancel()
	require.Equal(t, why, d.classify(inner, "do it", inner.Err()))
}

func TestClassifyPull(t *testing.T) {
	d, err := New("")
	require.NoError(t, err)
	for name, test := range map[string]struct {
		err       error
		reason    v1.Reason
		permanent bool
	}{
		"no such image":     {fmt.Errorf("manifest for a:b not found: %w", errdefs.ErrNotFound), v1.ReasonImageNotFound, true},
		"found out midway":  {errors.New("manifest unknown: manifest unknown"), v1.ReasonImageNotFound, true},
		"no registry there": {errors.New("error parsing HTTP 404 response body: invalid character"), v1.ReasonImageNotFound, true},
		"a login is needed": {errors.New("unauthorized: authentication required"), v1.ReasonImageNotFound, true},
		"other platform":    {errors.New("no matching manifest for linux/riscv64"), v1.ReasonImageNotFound, true},
		"unreachable":       {fmt.Errorf("dial tcp 127.0.0.1:1: connection refused: %w", errdefs.ErrInternal), v1.ReasonFetchFailed, false},
		"too many":          {errors.New("toomanyrequests: slow down"), v1.ReasonFetchFailed, false},
		"bad name":          {fmt.Errorf("invalid reference format: %w", errdefs.ErrInvalidArgument), v1.ReasonInvalid, true},
		"disk full":         {errors.New("write /x: no space left on device"), v1.ReasonDiskFull, false},
		"Docker went away":  {io.ErrUnexpectedEOF, v1.ReasonRuntimeUnavailable, false},
	} {
		t.Run(name, func(t *testing.T) {
			var e *contract.Error
			require.ErrorAs(t, d.classifyPull(t.Context(), "a:b", test.err), &e)
			require.Equal(t, test.reason, e.Reason)
			require.Equal(t, test.permanent, e.Permanent)
			require.NotEmpty(t, e.Advice)
		})
	}
	var e *contract.Error
	require.ErrorAs(t, d.Pull(t.Context(), "NOT a name", func(int64, int64) {}), &e)
	require.Equal(t, v1.ReasonInvalid, e.Reason)
}

func TestUnavailableSaysWhy(t *testing.T) {
	dir := t.TempDir()
	dead := filepath.Join(dir, "dead.sock")
	l, err := net.Listen("unix", dead)
	require.NoError(t, err)
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
	for host, want := range map[string]string{
		"unix://" + filepath.Join(dir, "none.sock"): "not installed or not running",
		"unix://" + dead:    "is down",
		"tcp://127.0.0.1:1": "can't be reached",
	} {
		d, err := New(host)
		require.NoError(t, err)
		_, err = d.Version(t.Context())
		require.Equal(t, v1.ReasonRuntimeUnavailable, contract.ReasonOf(err))
		require.Contains(t, err.Error(), want)
		_, err = d.Find(t.Context(), map[string]string{"berth.fleet": "none"})
		require.Equal(t, v1.ReasonRuntimeUnavailable, contract.ReasonOf(err), "it is not absent")
	}
	_, err = New("://")
	require.Error(t, err)
}

func TestSaidIsBounded(t *testing.T) {
	text := said(errors.New(strings.Repeat("ü\n", 4000)))
	require.LessOrEqual(t, len(text), textMax+len("…"))
	require.NotContains(t, text, "\n")
}
