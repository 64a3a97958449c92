package supervise

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Mend is what the machine does about what lost its definition.
func (m *machine) Mend(context.Context, *step.Call) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mends++
	if m.broken != nil {
		return "", m.broken
	}
	m.undefined = false
	return "it was undefined, and is defined again", nil
}

func (m *machine) undefine() {
	m.mu.Lock()
	m.undefined = true
	changed := m.changed
	m.mu.Unlock()
	changed("web")
}

func (m *machine) mended() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mends
}

func found(message string) func(contract.Observation) bool {
	return func(o contract.Observation) bool {
		return len(o.Findings) == 1 && o.Findings[0].Reason == v1.ReasonUndefined && o.Findings[0].Message == message
	}
}

func TestWhatIsFoundIsPutRightAndToldFor(t *testing.T) {
	w := watch(t, true, nil)
	w.hears("running", state(contract.RunRunning))
	w.undefine()
	o := w.hears("that it was put right", found("it was undefined, and is defined again"))
	require.Equal(t, contract.RunRunning, o.State)
	require.Equal(t, 1, w.mended())
	require.Zero(t, w.restarted())

	w.sup.mu.Lock() // a while later
	last := w.sup.mended["web"]
	last.at = time.Now().Add(-mendedFor - time.Second)
	w.sup.mended["web"] = last
	w.sup.mu.Unlock()
	seq := o.Seq
	w.changed("web")
	w.hears("that it is over", func(o contract.Observation) bool { return o.Seq > seq && len(o.Findings) == 0 })
}

func TestWhatCanNotBePutRightIsToldWithTheReason(t *testing.T) {
	w := watch(t, true, nil)
	w.machine.mu.Lock()
	w.broken = errors.New("no room")
	w.machine.mu.Unlock()
	w.hears("running", state(contract.RunRunning))
	w.undefine()
	w.hears("why not", found("it was undefined; that could not be put right: no room"))
	w.machine.mu.Lock()
	w.broken = nil
	w.machine.mu.Unlock()
	w.hears("that it was put right in the end", found("it was undefined, and is defined again"))
}

// The host puts nothing right where it would start nothing again.
func TestNothingIsPutRightThatIsNotTheHostsToDo(t *testing.T) {
	for name, tc := range map[string]struct {
		admitted bool
		change   func(*record.Record)
	}{
		"before the host is admitted": {false, nil},
		"once a later action began":   {true, func(r *record.Record) { r.Fence++ }},
		"while an action is open":     {true, func(r *record.Record) { r.Open = true }},
		"of what is to be stopped":    {true, func(r *record.Record) { r.Wanted = record.WantedStopped }},
		"of a job that has ended":     {true, func(r *record.Record) { r.Exit = exited(0) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := watch(t, tc.admitted, nil)
			w.hears("running", state(contract.RunRunning))
			unlock, err := w.store.Lock(t.Context(), "web", time.Second) // somebody is at work, and has not got as far as the record
			require.NoError(t, err)
			w.undefine()
			w.hears("what is wrong", found("it was undefined; its host puts that right"))
			if tc.change != nil {
				rec, err := w.store.Get("web")
				require.NoError(t, err)
				tc.change(&rec)
				require.NoError(t, w.store.Put(rec))
			}
			unlock()
			if tc.admitted {
				w.sup.mend(t.Context(), "web")
			}
			require.Zero(t, w.mended())
		})
	}
}
