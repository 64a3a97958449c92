package libvirt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	golibvirt "github.com/digitalocean/go-libvirt"
	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestClassify(t *testing.T) {
	answer := func(code golibvirt.ErrorNumber, text string) error {
		return golibvirt.Error{Code: uint32(code), Message: text}
	}
	for name, tc := range map[string]struct {
		err       error
		reason    v1.Reason
		permanent bool
	}{
		"no domain":          {answer(golibvirt.ErrNoDomain, "Domain not found"), v1.ReasonNotFound, true},
		"no network":         {fmt.Errorf("x: %w", answer(golibvirt.ErrNoNetwork, "")), v1.ReasonNotFound, true},
		"interrupted":        {golibvirt.ErrInterrupted, v1.ReasonRuntimeUnavailable, false},
		"not connected":      {syscall.EINVAL, v1.ReasonRuntimeUnavailable, false},
		"end of file":        {io.EOF, v1.ReasonRuntimeUnavailable, false},
		"refused":            {fmt.Errorf("connect: %w", syscall.ECONNREFUSED), v1.ReasonRuntimeUnavailable, false},
		"not accepted":       {errNotAccepted, v1.ReasonRuntimeUnavailable, false},
		"no permission":      {answer(golibvirt.ErrAuthUnavailable, "polkit"), v1.ReasonRuntimeUnavailable, false},
		"state lock timeout": {answer(golibvirt.ErrOperationTimeout, "cannot acquire state change lock"), v1.ReasonRuntimeUnavailable, false},
		"bad XML":            {answer(golibvirt.ErrXMLInvalidSchema, ""), v1.ReasonRuntimeError, true},
		"unsupported":        {answer(golibvirt.ErrConfigUnsupported, ""), v1.ReasonRuntimeError, true},
		"QEMU failed":        {answer(golibvirt.ErrInternalError, "process exited"), v1.ReasonRuntimeError, false},
		"unknown code":       {answer(9999, ""), v1.ReasonRuntimeError, false},
		"disk full":          {answer(golibvirt.ErrSystemError, "write: No space left on device"), v1.ReasonDiskFull, false},
		"no memory":          {answer(golibvirt.ErrInternalError, "Cannot set up guest memory: Cannot allocate memory"), v1.ReasonNoCapacity, false},
		"disk in use":        {answer(golibvirt.ErrInternalError, `Failed to get "write" lock`), v1.ReasonRuntimeError, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := classify("do it", tc.err)
			var e *contract.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, tc.reason, e.Reason)
			require.Equal(t, tc.permanent, e.Permanent)
			require.Contains(t, e.Error(), "cannot do it")
			require.ErrorIs(t, err, tc.err)
		})
	}
	require.NoError(t, classify("do it", nil))
	for _, pass := range []error{context.Canceled, contract.StaleFence(1, 2)} {
		require.Equal(t, pass, classify("do it", pass))
	}
}

func TestCausesAreBriefAndOnOneLine(t *testing.T) {
	text := brief{errors.New("qemu:\n" + strings.Repeat("ü", 500))}.Error()
	require.NotContains(t, text, "\n")
	require.LessOrEqual(t, len(text), briefLength+len("…"))
	require.True(t, strings.HasPrefix(text, "qemu: ü"))
}
