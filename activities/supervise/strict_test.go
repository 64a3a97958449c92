package supervise

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/record"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// lease says of every strict workload that it was stopped, and may be started once the lease is live.
type lease struct{ live, stopped atomic.Bool }

func (l *lease) MayStart(string) error {
	if !l.live.Load() {
		return errors.New("no lease")
	}
	return nil
}

func (l *lease) WasStopped(string) bool { return l.stopped.Load() }

func (l *lease) Enter(v1.Workload) (func(bool), error) {
	return func(bool) { l.stopped.Store(false) }, l.MayStart("")
}

func (l *lease) Gone(string) {}

func TestWhatTheLeaseStoppedIsInterruptedAndStartedUnderTheNext(t *testing.T) {
	var l lease
	w := watchStrict(t, &l, true, func(r *record.Record) {
		r.Spec.Container.Strict = true
		r.Spec.Container.Restart = &v1.RestartPolicy{Policy: v1.RestartOnFailure}
	})
	w.hears("running", state(contract.RunRunning))
	l.stopped.Store(true)
	w.set(contract.RunExited, exited(0))
	o := w.hears("the exit", state(contract.RunExited))
	require.Equal(t, v1.ReasonInterrupted, o.Exit.Outcome, "it obeyed, and so exited with zero; it has not ended by itself")
	require.Zero(t, w.restarted())

	l.live.Store(true)
	w.sup.Look("web")
	require.Eventually(t, func() bool { return w.restarted() == 1 }, time.Minute, time.Millisecond)
	rec, err := w.store.Get("web")
	require.NoError(t, err)
	require.Zero(t, rec.Restarts, "it is not counted")
}
