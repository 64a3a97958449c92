package supervise

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/record"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestLooksThatHangKeepNobodyWaiting(t *testing.T) {
	w := watch(t, true, func(r *record.Record) { r.Open = true })
	w.machine.mu.Lock()
	w.hangs = "hung"
	w.machine.mu.Unlock()
	for i := range 3 * workers {
		name := fmt.Sprintf("hung-%d", i)
		put(t, w.store, name, nil)
		w.sup.Look(name)
	}
	put(t, w.store, "well", nil)
	begin := time.Now()
	w.sup.Look("well")
	w.hears("the one that can be looked at", state(contract.RunRunning))
	require.Less(t, time.Since(begin), lookTimeout, "before any of the others is given up")
}

func TestNobodyToTellKeepsNothingFromBeingStartedAgain(t *testing.T) {
	w := watch(t, true, nil)
	w.mu.Lock()
	w.away = true
	w.mu.Unlock()
	for i := range 3 * workers {
		put(t, w.store, fmt.Sprintf("other-%d", i), nil)
	}
	w.sup.Admit()
	quickest := time.Hour
	for n := 1; n <= 3 && quickest >= sendTimeout; n++ { // a disk may stall
		begin := time.Now()
		w.set(contract.RunExited, exited(1))
		require.Eventually(t, func() bool { return w.restarted() >= n }, time.Minute, time.Millisecond)
		quickest = min(quickest, time.Since(begin))
	}
	require.Less(t, quickest, sendTimeout)
}

func TestARecordIsLookedAtOnceItIsMended(t *testing.T) {
	dir := t.TempDir()
	store, err := record.Open(dir, "f", "h1")
	require.NoError(t, err)
	put(t, store, "web", nil)
	require.NoError(t, store.Close())
	path := filepath.Join(dir, "workloads", "web", "record.json")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, whole[:len(whole)/2], 0o600))

	store, err = record.Open(dir, "f", "h1")
	require.NoError(t, err)
	require.Equal(t, []string{"web"}, store.Names())
	w := watchStore(t, nil, true, store)
	w.sup.look(t.Context(), "web")
	require.Empty(t, w.told, "nothing is known of it")
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	w.hears("the mended one", state(contract.RunRunning))
}

func TestWhatIsRecordedOfAJobIsNotToldAgain(t *testing.T) {
	w := watch(t, true, func(r *record.Record) { r.Attempt, r.Acked, r.Exit = 2, 2, exited(3) })
	put(t, w.store, "next", func(r *record.Record) { r.Attempt, r.Acked, r.Exit = 3, 2, exited(4) })
	w.sup.Admit()
	w.sup.look(t.Context(), "web")
	o := w.hears("the attempt that is not recorded yet", func(o contract.Observation) bool { return o.Attempt == 3 })
	require.Equal(t, 4, o.Exit.Code)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.told {
		require.Equal(t, 3, o.Attempt)
	}
}

func TestTheNextTryAndTheLastFailureAreTold(t *testing.T) {
	w := watch(t, true, nil)
	w.hears("running", state(contract.RunRunning))
	w.machine.mu.Lock()
	w.broken = errors.New("no bridge")
	w.machine.mu.Unlock()
	w.set(contract.RunExited, exited(1))
	first := w.hears("the exit", state(contract.RunExited))
	require.Positive(t, first.RestartIn)
	require.LessOrEqual(t, first.RestartIn, restartMin)
	again := w.hears("the restart's failure", func(o contract.Observation) bool { return o.State == contract.RunExited && o.Restarts > 1 })
	require.Greater(t, again.RestartIn, restartMin)
	require.Equal(t, "the restart failed: no bridge", again.Exit.Message)
	require.Zero(t, w.restarted())
}

func TestNoRestartBeyondTheMaximum(t *testing.T) {
	w := watch(t, true, func(r *record.Record) {
		r.Spec.Container.Restart = &v1.RestartPolicy{Policy: v1.RestartOnFailure, MaxRetries: 2}
		r.Restarts = 1
	})
	w.hears("running", state(contract.RunRunning))
	rec, err := w.store.Get("web")
	require.NoError(t, err)
	_, _, fresh := w.sup.planRestart(rec, *exited(1), time.Now())
	require.True(t, fresh)
	rec.Restarts = 2 // somebody else counted the last one meanwhile
	require.NoError(t, w.store.Put(rec))
	w.sup.restart(t.Context(), "web")
	require.Zero(t, w.restarted())
}
