package supervise

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// machine is a runtime in memory: what the supervisor does with what it sees is tested here, real runtimes in their own
// packages.
type machine struct {
	step.Runtime
	mu       sync.Mutex
	state    contract.RunState
	exit     *contract.Exit
	err      error
	restarts int
	changed  func(string)
	// hangs makes looks at that workload wait until their time is over, broken makes restarts fail.
	hangs  string
	broken error
	// undefined is something that Mend puts right, mends how often it was tried.
	undefined bool
	mends     int
}

func (m *machine) Kind() v1.Kind { return v1.KindContainer }

func (m *machine) Observe(ctx context.Context, r record.Record) (contract.Observation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hangs != "" && strings.HasPrefix(r.Workload, m.hangs) {
		m.mu.Unlock()
		<-ctx.Done()
		m.mu.Lock()
		return contract.Observation{}, ctx.Err()
	}
	o := contract.Observation{State: m.state, Exit: m.exit, Mend: m.undefined}
	if m.undefined {
		o.Findings = []contract.Finding{{Reason: v1.ReasonUndefined, Message: "it was undefined"}}
	}
	return o, m.err
}

func (m *machine) Restart(context.Context, *step.Call) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return m.broken
	}
	m.restarts++
	m.state, m.exit = contract.RunRunning, nil
	return nil
}

func (m *machine) Watch(ctx context.Context, changed func(string)) error {
	m.mu.Lock()
	m.changed = changed
	m.mu.Unlock()
	changed("")
	<-ctx.Done()
	return ctx.Err()
}

func (m *machine) set(state contract.RunState, exit *contract.Exit) {
	m.mu.Lock()
	m.state, m.exit = state, exit
	changed := m.changed
	m.mu.Unlock()
	if changed != nil {
		changed("web")
	}
}

func (m *machine) restarted() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.restarts
}

type member int64

func (m member) LeaseNo() int64 { return int64(m) }

type watched struct {
	*machine
	t     *testing.T
	store *record.Store
	sup   *Supervisor
	mu    sync.Mutex
	told  []contract.Observation
	// away makes whoever tells something wait until the time for that is over.
	away bool
}

func watch(t *testing.T, admitted bool, change func(*record.Record)) *watched {
	t.Helper()
	return watchStrict(t, nil, admitted, change)
}

// watchStrict is watch on a host that takes strict workloads.
func watchStrict(t *testing.T, l *lease, admitted bool, change func(*record.Record)) *watched {
	t.Helper()
	store, err := record.Open(t.TempDir(), "f", "h1")
	require.NoError(t, err)
	put(t, store, "web", change)
	return watchStore(t, l, admitted, store)
}

// put records a workload that was deployed.
func put(t *testing.T, store *record.Store, name string, change func(*record.Record)) {
	t.Helper()
	rec, err := store.Get(name)
	require.NoError(t, err)
	rec = rec.Begin(contract.StepIn{
		Ref:  contract.Ref{Workload: name, Kind: v1.KindContainer, Generation: 1, Fence: 7},
		Spec: v1.Workload{APIVersion: v1.APIVersion, Kind: v1.KindContainer, Container: &v1.ContainerSpec{Image: "i"}},
	}, contract.StepStart).Finish(contract.StepStart, contract.StepOut{}, time.Now())
	if change != nil {
		change(&rec)
	}
	require.NoError(t, store.Put(rec))
}

func watchStore(t *testing.T, l *lease, admitted bool, store *record.Store) *watched {
	t.Helper()
	w := &watched{machine: &machine{state: contract.RunRunning}, t: t, store: store}
	log := slog.New(slog.DiscardHandler)
	cfg := Config{
		Host: "h1", Store: store, Runner: step.NewRunner(store, log), Runtimes: []step.Runtime{w.machine}, Member: member(1),
		Admitted: func() bool { return admitted }, Send: w.take, Log: log,
	}
	if l != nil {
		cfg.Strict, cfg.Runner.Strict = l, l
	}
	w.sup = New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { w.sup.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return w
}

func (w *watched) take(ctx context.Context, _ string, o contract.Observation) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away {
		w.mu.Unlock()
		<-ctx.Done()
		w.mu.Lock()
		return ctx.Err()
	}
	w.told = append(w.told, o)
	return nil
}

func (w *watched) hears(what string, is func(contract.Observation) bool) contract.Observation {
	w.t.Helper()
	var found contract.Observation
	require.Eventually(w.t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, o := range w.told {
			if is(o) {
				found = o
				return true
			}
		}
		return false
	}, time.Minute, time.Millisecond, what)
	return found
}

func state(s contract.RunState) func(contract.Observation) bool {
	return func(o contract.Observation) bool { return o.State == s }
}

func exited(code int) *contract.Exit {
	return &contract.Exit{Code: code, Outcome: v1.ReasonExited, At: time.Now()}
}

func TestWhatRunsIsTold(t *testing.T) {
	w := watch(t, true, nil)
	o := w.hears("running", state(contract.RunRunning))
	require.EqualValues(t, 7, o.Fence)
	require.EqualValues(t, 1, o.LeaseNo)
	require.Equal(t, "h1", o.Host)
}

func TestAServiceThatEndsIsToldAndStartedAgain(t *testing.T) {
	w := watch(t, true, nil)
	w.hears("running", state(contract.RunRunning))
	w.set(contract.RunExited, exited(1))
	w.hears("the exit", state(contract.RunExited))
	o := w.hears("running again", func(o contract.Observation) bool { return o.State == contract.RunRunning && o.Restarts == 1 })
	require.Equal(t, 1, w.restarted())
	require.Greater(t, o.Seq, int64(1))
}

func TestNothingIsStartedBeforeTheHostIsAdmitted(t *testing.T) {
	w := watch(t, false, nil)
	w.set(contract.RunExited, exited(1))
	w.hears("the exit", state(contract.RunExited))
	require.Zero(t, w.restarted())
}

func TestAPolicyWithoutRestartIsRespected(t *testing.T) {
	w := watch(t, true, func(r *record.Record) {
		r.Spec.Container.Restart = &v1.RestartPolicy{Policy: v1.RestartNo}
	})
	w.set(contract.RunExited, exited(1))
	w.hears("the exit", state(contract.RunExited))
	require.Zero(t, w.restarted())
}

func TestAJobsExitIsKeptAndRecalledWhenItsContainerIsGone(t *testing.T) {
	w := watch(t, true, func(r *record.Record) { r.Attempt = 1 })
	w.set(contract.RunExited, exited(3))
	w.hears("the exit", state(contract.RunExited))
	rec, err := w.store.Get("web")
	require.NoError(t, err)
	require.Equal(t, 3, rec.Exit.Code)
	require.Zero(t, w.restarted(), "a job's next attempt is the control plane's to start")

	w.mu.Lock()
	w.told = nil
	w.mu.Unlock()
	w.set(contract.RunAbsent, nil)
	w.sup.Admit() // a new lease is told everything again
	o := w.hears("the same exit", state(contract.RunExited))
	require.Equal(t, 3, o.Exit.Code)
}

func TestNothingIsSaidWhileAnActionIsOpen(t *testing.T) {
	w := watch(t, true, func(r *record.Record) { r.Open = true })
	w.sup.look(t.Context(), "web")
	require.Empty(t, w.told)
}

func TestUnobservableChangesNothing(t *testing.T) {
	w := watch(t, true, nil)
	w.hears("running", state(contract.RunRunning))
	w.machine.mu.Lock()
	w.err = errors.New("no socket")
	w.machine.mu.Unlock()
	w.sup.look(t.Context(), "web")
	require.Len(t, w.told, 1)
	require.Zero(t, w.restarted())
}

func TestRestartsBackOffAndForget(t *testing.T) {
	s := New(Config{Log: slog.New(slog.DiscardHandler)})
	r := record.Record{Workload: "web", Fence: 7}
	now := time.Now()
	plan := func() time.Duration {
		due, _, fresh := s.planRestart(r, *exited(1), now)
		require.True(t, fresh)
		again, _, fresh := s.planRestart(r, *exited(1), now.Add(time.Millisecond))
		require.False(t, fresh, "one restart at a time")
		require.Equal(t, due, again)
		s.restarts["web"].due = time.Time{}
		return due.Sub(now)
	}
	require.Equal(t, restartMin, plan())
	require.Equal(t, 2*restartMin, plan())
	for range 20 {
		plan()
	}
	require.Equal(t, restartMax, plan())
	s.restarts["web"].runningAt = now.Add(-restartForget - time.Second)
	require.Equal(t, restartMin, plan(), "it ran for a while")
	plan()
	r.Fence++
	require.Equal(t, restartMin, plan(), "a new deploy counts anew")
}

func TestNewsThatAreToldLateTellOfTheSameStart(t *testing.T) {
	seen := time.Now()
	for name, c := range map[string]struct{ in, late, told time.Duration }{
		"at once":                     {3 * time.Second, 0, 3 * time.Second},
		"folded":                      {3 * time.Second, 2 * time.Second, time.Second},
		"when it should have started": {3 * time.Second, time.Minute, time.Millisecond},
		"no start is planned":         {0, time.Minute, 0},
	} {
		s := sight{observation: contract.Observation{RestartIn: c.in}, at: seen}
		require.Equal(t, c.told, s.toldAt(seen.Add(c.late)).RestartIn, name)
	}
}
