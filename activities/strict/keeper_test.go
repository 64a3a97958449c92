package strict_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/deadline"
	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	"github.com/berth-dev/berth/activities/strict"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// machine is a runtime in memory: real ones are stopped in their own packages and in the guard's.
type machine struct {
	step.Runtime
	mu      sync.Mutex
	running bool
	grace   time.Duration
	halts   int
	err     error
}

func (*machine) Kind() v1.Kind { return v1.KindContainer }

func (m *machine) Halt(_ context.Context, _ string, grace time.Duration, found func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.halts++
	if m.err != nil || !m.running {
		return m.err
	}
	found()
	m.grace, m.running = grace, false
	return nil
}

func (m *machine) Processes(context.Context, string) ([]int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.running {
		return nil, nil
	}
	return []int{os.Getpid()}, nil
}

func (m *machine) set(running bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running = running
}

func (m *machine) runs() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running
}

type kept struct {
	*strict.Keeper
	rt    *machine
	t     *testing.T
	dir   deadline.Dir
	ready chan string
	close func() error
}

// keep opens a keeper on a directory with a guard.
func keep(t *testing.T, dir deadline.Dir, records ...record.Record) *kept {
	t.Helper()
	require.NoError(t, dir.Make())
	require.NoError(t, dir.Beat())
	k := &kept{rt: &machine{}, t: t, dir: dir, ready: make(chan string, 100)}
	var err error
	k.Keeper, err = strict.Open(strict.Config{
		Dir: dir, Fleet: "f", Host: "h1", Runtimes: []step.Runtime{k.rt}, Ready: func(w string) { k.ready <- w },
		Log: slog.New(slog.DiscardHandler),
	}, records)
	require.NoError(t, err)
	k.close = sync.OnceValue(k.Close)
	t.Cleanup(func() { require.NoError(t, k.close()) })
	return k
}

func newDir(t *testing.T) deadline.Dir { return deadline.DirOf(t.TempDir(), "f", "h1") }

// run lets the keeper watch over its deadline until the returned function is called.
func (k *kept) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); k.Run(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	k.t.Cleanup(stop)
	return stop
}

func (k *kept) file() deadline.File {
	k.t.Helper()
	f, err := k.dir.Read()
	require.NoError(k.t, err)
	return f
}

func web() v1.Workload {
	return v1.Workload{Kind: v1.KindContainer, Metadata: v1.Metadata{Name: "web"}, Container: &v1.ContainerSpec{
		Common: v1.Common{Strict: true, StopGracePeriod: v1.Duration(time.Second)},
	}}
}

// start starts the workload as a step does.
func (k *kept) start() {
	k.t.Helper()
	leave, err := k.Enter(web())
	require.NoError(k.t, err)
	k.rt.set(true)
	leave(true)
}

func TestNothingStrictStartsWithoutALiveLeaseAndAGuard(t *testing.T) {
	k := keep(t, newDir(t))
	refuses := func(reason v1.Reason, why string) {
		t.Helper()
		_, err := k.Enter(web())
		require.Equal(t, reason, contract.ReasonOf(err), why)
		require.Equal(t, reason, contract.ReasonOf(k.MayStart("web")), why)
	}
	refuses(v1.ReasonHostOffline, "no beat yet")
	k.Renewed(deadline.Now() - time.Millisecond)
	refuses(v1.ReasonHostOffline, "the lease has ended")
	k.Renewed(deadline.Now() + time.Minute)
	require.NoError(t, k.MayStart("web"))

	k.Welcomed([]contract.Debt{{Workload: "web", Fence: 3}})
	refuses(v1.ReasonHostLost, "it runs elsewhere")
	k.Paid("web")
	require.NoError(t, k.MayStart("web"))

	require.NoError(t, os.Remove(string(k.dir)+"/guard.json"))
	refuses(v1.ReasonRuntimeUnavailable, "no guard")
	require.Empty(t, k.file().Runtimes)
}

func TestTheGuardKnowsOfAStrictWorkloadBeforeItRunsAndUntilItIsGone(t *testing.T) {
	k := keep(t, newDir(t))
	until := deadline.Now() + time.Minute
	k.Renewed(until)
	leave, err := k.Enter(web())
	require.NoError(t, err)
	f := k.file()
	require.Equal(t, []deadline.Runtime{{Workload: "web", Kind: v1.KindContainer, Grace: time.Second}}, f.Runtimes)
	require.Equal(t, until, f.Deadline)
	require.True(t, f.Held)
	self, err := deadline.Self()
	require.NoError(t, err)
	require.Equal(t, self, f.Agent)

	k.rt.set(true)
	leave(true)
	require.Equal(t, []deadline.Process{self}, k.file().Runtimes[0].Processes)
	k.Gone("web")
	require.Empty(t, k.file().Runtimes)
}

func TestWhatIsStrictStopsWithTheLeaseAndMayStartUnderTheNext(t *testing.T) {
	k := keep(t, newDir(t))
	k.Renewed(deadline.Now() + time.Minute)
	k.start()
	k.run()
	require.Equal(t, "web", <-k.ready)
	k.Renewed(deadline.Now())
	require.Eventually(t, func() bool { return k.file().Runtimes[0].Stopped }, time.Minute, time.Millisecond)
	require.False(t, k.rt.runs())
	require.True(t, k.file().Stopping)
	require.True(t, k.WasStopped("web"))
	k.rt.mu.Lock()
	require.Equal(t, time.Second, k.rt.grace)
	k.rt.mu.Unlock()
	require.Error(t, k.MayStart("web"))

	k.rt.set(true) // a start that was under way in the runtime comes through late
	require.Eventually(t, func() bool { return !k.rt.runs() }, time.Minute, time.Millisecond)

	k.Renewed(deadline.Now() + time.Minute)
	require.False(t, k.file().Stopping)
	require.Equal(t, "web", <-k.ready, "it may be started again")
	k.start()
	require.False(t, k.file().Runtimes[0].Stopped)
	require.False(t, k.WasStopped("web"))
}

func TestAStepUnderWayKeepsAWorkloadFromCountingAsStopped(t *testing.T) {
	k := keep(t, newDir(t))
	k.Renewed(deadline.Now() + time.Minute)
	leave, err := k.Enter(web())
	require.NoError(t, err)
	k.Renewed(deadline.Now())
	k.run()
	halted := func() bool { k.rt.mu.Lock(); defer k.rt.mu.Unlock(); return k.rt.halts > 0 }
	require.Eventually(t, halted, time.Minute, time.Millisecond)
	require.False(t, k.file().Runtimes[0].Stopped, "it may be started at any moment")
	leave(false)
	require.Eventually(t, func() bool { return k.file().Runtimes[0].Stopped }, time.Minute, time.Millisecond)
}

func TestARuntimeThatFailsIsAskedAgain(t *testing.T) {
	k := keep(t, newDir(t))
	k.Renewed(deadline.Now() + time.Minute)
	leave, err := k.Enter(web())
	require.NoError(t, err)
	leave(true) // its processes are not known
	k.rt.set(true)
	k.rt.err = errors.New("no socket")
	k.Renewed(deadline.Now())
	k.run()
	halted := func() bool { k.rt.mu.Lock(); defer k.rt.mu.Unlock(); return k.rt.halts > 0 }
	require.Eventually(t, halted, time.Minute, time.Millisecond)
	require.False(t, k.file().Runtimes[0].Stopped)
	k.rt.mu.Lock()
	k.rt.err = nil
	k.rt.mu.Unlock()
	require.Eventually(t, func() bool { return k.file().Runtimes[0].Stopped }, time.Minute, time.Millisecond)
}

func TestTheNextAgentTakesTheDeadlineOver(t *testing.T) {
	dir := newDir(t)
	k := keep(t, dir)
	until := deadline.Now() + time.Minute
	k.Renewed(until)
	k.start()
	_, err := strict.Open(strict.Config{Dir: dir, Log: slog.New(slog.DiscardHandler)}, nil)
	require.ErrorContains(t, err, "another agent")
	require.NoError(t, k.close())

	next := keep(t, dir)
	f := next.file()
	require.Equal(t, until, f.Deadline)
	require.False(t, f.Held, "it has started nothing yet")
	require.Len(t, f.Runtimes, 1)
	require.Error(t, next.MayStart("web"), "the lease is another process's")
	next.rt.set(true)
	stop := next.run()
	next.Renewed(deadline.Now() + time.Minute)
	require.Equal(t, "web", <-next.ready)
	stop()
	require.True(t, next.rt.runs(), "nothing was stopped")
}

func TestWithoutADeadlineOfThisBootWhatRunsIsStopped(t *testing.T) {
	dir := newDir(t)
	require.NoError(t, dir.Make())
	require.NoError(t, dir.Write(deadline.File{
		BootID: "before", Deadline: deadline.Now() + time.Hour, Runtimes: []deadline.Runtime{{Workload: "old", Kind: v1.KindContainer}},
	}))
	spec, other := web(), web()
	other.Container.Strict = false
	k := keep(t, dir,
		record.Record{Workload: "web", Wanted: record.WantedRunning, Spec: &spec},
		record.Record{Workload: "stopped", Wanted: record.WantedStopped, Spec: &spec},
		record.Record{Workload: "other", Wanted: record.WantedRunning, Spec: &other},
	)
	require.Len(t, k.file().Runtimes, 1)
	require.Equal(t, "web", k.file().Runtimes[0].Workload)
	k.rt.set(true)
	k.run()
	require.Eventually(t, func() bool { return k.file().Runtimes[0].Stopped }, time.Minute, time.Millisecond)
	require.False(t, k.rt.runs())
}

func TestADeadlineThatCannotBeWrittenDoesNotHold(t *testing.T) {
	k := keep(t, newDir(t))
	k.Renewed(deadline.Now() + time.Minute)
	k.start()
	k.Renewed(deadline.Now())
	// In the way of the file that replaces the old one.
	require.NoError(t, os.Mkdir(string(k.dir)+"/.deadline.json", 0o700))
	k.Renewed(deadline.Now() + time.Minute)
	require.Error(t, k.MayStart("web"), "the guard does not know of the new one")
	k.run()
	require.Eventually(t, func() bool { return !k.rt.runs() }, time.Minute, time.Millisecond)
}

func TestTheGraceIsOverAtTheSameTimeWhoeverStops(t *testing.T) {
	r := deadline.Runtime{Grace: 10 * time.Second}
	const end = time.Hour
	for after, want := range map[time.Duration]time.Duration{
		0:                                   10 * time.Second,
		contract.StrictMargin:               10 * time.Second,
		contract.StrictMargin + time.Second: 9 * time.Second,
		contract.StrictMargin + time.Minute: 0,
	} {
		require.Equal(t, want, strict.Remaining(end, r, end+after), after)
	}
}
