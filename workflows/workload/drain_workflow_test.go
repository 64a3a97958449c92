package workload_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// A stop during a move leaves the workload on no host, while something is left behind on two of them.
func TestAStopDuringAMoveEmptiesBothHosts(t *testing.T) {
	f := newFleet(t)
	f.OnSignalExternalWorkflow(mock.Anything, contract.HostID("h2"), "", mock.Anything, mock.Anything).Return(nil)
	f.activity(contract.ActivityPlace, func(_ context.Context, in contract.PlaceIn) (contract.PlaceOut, error) {
		if in.Leaves != "" {
			return contract.PlaceOut{Host: "h2", Instance: "i2"}, nil
		}
		return contract.PlaceOut{Host: "h1", Instance: "i1"}, nil
	})
	stopped := make(chan struct{})
	f.start = func(context.Context, contract.StepIn) (contract.StepOut, error) {
		if f.started.Load() == 1 {
			return contract.StepOut{RuntimeID: "c1"}, nil
		}
		<-stopped
		return contract.StepOut{}, temporal.NewCanceledError()
	}
	f.after(time.Minute, func() { f.SignalWorkflow(contract.SignalDrain, contract.HostDrain{Host: "h1", Seq: 1}) })
	f.after(61*time.Second, func() {
		f.signal(v1.VerbStop)()
		close(stopped)
	})
	f.after(2*time.Minute, func() {
		st := f.status()
		require.Equal(t, v1.PhaseStopped, st.Phase, "%+v", st)
		require.Empty(t, st.Host)
		require.EqualValues(t, 2, f.removed.Load(), "the old copy, and what the move had made")
	})
	f.after(3*time.Minute, f.signal(v1.VerbRemove))
	f.run(contract.DefaultTimings())
	f.closed()
}
