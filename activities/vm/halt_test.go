package vm_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/deadline"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestARealGuestIsHaltedWithoutItsRecord(t *testing.T) {
	h := newHost(t, realURI)
	w := smallGuest("halted", h.guestImage())
	h.begin(w, 1, v1.VerbDeploy).must(deploySteps...)
	pids, err := h.rt.Processes(context.Background(), "halted")
	require.NoError(t, err)
	require.Len(t, pids, 1)
	qemu, err := deadline.ProcessOf(pids[0])
	require.NoError(t, err)

	found := 0
	require.NoError(t, h.rt.Halt(context.Background(), "halted", time.Minute, func() { found++ }))
	require.Equal(t, 1, found)
	require.False(t, qemu.Runs())
	o := h.observe("halted")
	require.Equal(t, contract.RunExited, o.State)
	require.Equal(t, 0, o.Exit.Code, "it was asked first, and obeyed")
	require.NoError(t, h.rt.Halt(context.Background(), "halted", time.Minute, func() { found++ }))
	require.NoError(t, h.rt.Halt(context.Background(), "never-made", 0, func() { found++ }))
	require.Equal(t, 1, found)
	pids, err = h.rt.Processes(context.Background(), "halted")
	require.NoError(t, err)
	require.Empty(t, pids)
	h.begin(w, 1, v1.VerbRemove).must(contract.StepRemove)
}
