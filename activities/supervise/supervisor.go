// Package supervise watches over what a host's records say should run: it tells the control plane what it sees, and starts
// again what ended by itself, also while the control plane is away.
package supervise

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// workers is how many work on each of the queues.
	workers       = 4
	lookTimeout   = 15 * time.Second
	sendTimeout   = 5 * time.Second
	lookAgain     = 3 * time.Second
	mendAgain     = 5 * time.Second
	reconnectWait = time.Second
)

// Member says where the host stands in the fleet.
type Member interface {
	// LeaseNo is the number of the last lease.
	LeaseNo() int64
}

// Strict is what the host keeps of its strict workloads.
type Strict interface {
	// MayStart says why a workload may not be started now, if so.
	MayStart(workload string) error
	// WasStopped reports whether a workload was stopped because the lease had ended, and not started since.
	WasStopped(workload string) bool
}

// Config is what a Supervisor works with.
type Config struct {
	Host     string
	BootID   string
	Store    *record.Store
	Runner   *step.Runner
	Runtimes []step.Runtime
	Member   Member
	// Admitted reports whether the fleet has admitted this host since it booted, and since it stood still if it did: until
	// then nothing is started.
	Admitted func() bool
	// Strict says of strict workloads whether they may be started, and whether they were stopped. Nil where there are none.
	Strict Strict
	// Send delivers an observation to the workload's entity.
	Send func(ctx context.Context, workload string, o contract.Observation) error
	Log  *slog.Logger
}

// Supervisor looks at workloads when something may have changed, and never otherwise.
type Supervisor struct {
	Config
	runtimes map[v1.Kind]step.Runtime
	// looks, starts, mends and news are the workloads to look at, to start again, to put right, and to tell of.
	looks, starts, mends, news *queue

	mu   sync.Mutex
	seq  int64
	sent map[string]sent
	// seen is the latest look at each workload of which news is to be told.
	seen map[string]sight
	// owed are the workloads of which nothing has been told under this lease, though they were there when it began.
	owed     map[string]bool
	restarts map[string]*restartState
	mended   map[string]mended
}

// sight is what a look saw and when, and the record by which it looked.
type sight struct {
	record      record.Record
	observation contract.Observation
	at          time.Time
}

// toldAt is the observation as it is told at a time: folded news are late, and a restart is as much nearer.
func (s sight) toldAt(now time.Time) contract.Observation {
	o := s.observation
	if o.RestartIn > 0 {
		o.RestartIn = max(time.Millisecond, o.RestartIn-now.Sub(s.at))
	}
	return o
}

// New returns a supervisor. Run makes it work.
func New(c Config) *Supervisor {
	s := &Supervisor{
		Config: c, runtimes: map[v1.Kind]step.Runtime{}, looks: newQueue(), starts: newQueue(), mends: newQueue(), news: newQueue(),
		sent: map[string]sent{}, seen: map[string]sight{}, owed: map[string]bool{}, restarts: map[string]*restartState{},
		mended: map[string]mended{},
	}
	for _, rt := range c.Runtimes {
		s.runtimes[rt.Kind()] = rt
	}
	return s
}

// Run watches until ctx ends.
func (s *Supervisor) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, rt := range s.Runtimes {
		wg.Go(func() { s.watch(ctx, rt) })
	}
	wg.Go(func() { s.looks.serve(ctx, s.look) })
	wg.Go(func() { s.starts.serve(ctx, s.restart) })
	wg.Go(func() { s.mends.serve(ctx, s.mend) })
	wg.Go(func() { s.news.serve(ctx, s.tell) })
	wg.Wait()
}

// Look asks for a look at a workload, soon.
func (s *Supervisor) Look(workload string) { s.looks.add(workload) }

// Admit forgets what was told before: a new lease is told everything again.
func (s *Supervisor) Admit() {
	all := s.Store.Names()
	s.mu.Lock()
	s.sent, s.owed = map[string]sent{}, make(map[string]bool, len(all))
	for _, name := range all {
		s.owed[name] = true
	}
	s.mu.Unlock()
	for _, name := range all {
		s.Look(name)
	}
}

// TellAgain has the control plane told of a workload once more, whatever was told before.
func (s *Supervisor) TellAgain(workload string) {
	s.owe(workload)
	s.Look(workload)
}

// owe forgets what was told of a workload.
func (s *Supervisor) owe(workload string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sent, workload)
	s.owed[workload] = true
}

// watch keeps a runtime's events flowing.
func (s *Supervisor) watch(ctx context.Context, rt step.Runtime) {
	for ctx.Err() == nil {
		err := rt.Watch(ctx, func(workload string) {
			if workload != "" {
				s.Look(workload)
				return
			}
			for _, r := range s.Store.List() {
				if r.Kind == rt.Kind() {
					s.Look(r.Workload)
				}
			}
		})
		if ctx.Err() == nil {
			s.Log.Debug("runtime's events ended; they are watched again", "kind", rt.Kind(), "error", err)
		}
		pause(ctx, reconnectWait)
	}
}

// look observes one workload, starts it again if that is the host's to do, and has the control plane told.
func (s *Supervisor) look(ctx context.Context, workload string) {
	r, err := s.Store.Get(workload)
	if err != nil { // nothing is known of it before somebody mends the record
		s.Log.Warn("workload could not be looked at", "workload", workload, "error", err)
		s.looks.addLater(workload, mendAgain)
		return
	}
	if r.Fence == 0 || r.Open || r.Wanted != record.WantedRunning || r.Spec == nil || r.Acknowledged() {
		return // nothing to say: an action is open, or nothing should run
	}
	rt, ok := s.runtimes[r.Kind]
	if !ok {
		return
	}
	if r.Attempt > 0 && r.Exit != nil {
		// It has ended, whatever has become of what is left of it.
		s.saw(r, contract.Observation{State: contract.RunExited, Exit: r.Exit})
		return
	}
	lctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	o, err := rt.Observe(lctx, r)
	if err != nil {
		// Unobservable changes nothing. The runtime's return is an event; this stands behind it.
		s.Log.Debug("workload could not be observed", "workload", workload, "error", err)
		s.looks.addLater(workload, lookAgain)
		return
	}
	s.explainStop(r, o)
	s.explainMend(r, &o)
	switch {
	case r.Attempt > 0:
		s.keepExit(ctx, r, o)
	case o.State == contract.RunExited && o.Exit != nil:
		var failed string
		if o.RestartIn, failed = s.restartLater(r, *o.Exit); failed != "" {
			exit := *o.Exit
			exit.Message, o.Exit = failed, &exit
		}
	case o.State == contract.RunRunning:
		s.noteRunning(workload)
	}
	s.saw(r, o)
	s.mendLater(r, o)
}

// keepExit makes the end of a job's attempt durable, so that it is recalled when the container is gone.
func (s *Supervisor) keepExit(ctx context.Context, r record.Record, o contract.Observation) {
	if o.State != contract.RunExited || o.Exit == nil {
		return
	}
	if err := s.Runner.KeepExit(ctx, r.Workload, r.Fence, *o.Exit); err != nil {
		s.Log.Warn("a job's exit could not be kept", "workload", r.Workload, "error", err)
	}
}

// saw has the control plane told of what was seen.
func (s *Supervisor) saw(r record.Record, o contract.Observation) {
	o.Host, o.Fence, o.Attempt, o.Restarts, o.BootID = s.Host, r.Fence, r.Attempt, r.Restarts, s.BootID
	s.mu.Lock()
	s.seen[r.Workload] = sight{r, o, time.Now()}
	s.mu.Unlock()
	s.news.add(r.Workload)
}

// tell sends what was seen last of a workload, unless that says what was said before.
func (s *Supervisor) tell(ctx context.Context, workload string) {
	leaseNo := s.Member.LeaseNo()
	if leaseNo == 0 {
		return // never admitted: everything is told at the first hello
	}
	s.mu.Lock()
	now := time.Now()
	r, o := s.seen[workload].record, s.seen[workload].toldAt(now)
	if r.Workload == "" || s.answered(r, o) {
		s.mu.Unlock()
		return
	}
	delete(s.owed, workload)
	decisive := o.State == contract.RunExited && (o.Exit == nil || !mayRestart(r, *o.Exit))
	later, repeated := s.fold(workload, o, decisive, now)
	s.seq++
	o.LeaseNo, o.Seq, o.Repeated = leaseNo, s.seq, repeated
	s.mu.Unlock()
	switch {
	case later < 0:
		return
	case later > 0:
		s.news.addLater(workload, later)
		return
	}
	sctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	err := s.Send(sctx, workload, o)
	var gone *serviceerror.NotFound
	switch {
	case err == nil:
	case errors.As(err, &gone):
		s.Log.Warn("no such workload in the fleet; what is on the host is left alone", "workload", workload)
	default:
		s.Log.Warn("observation not delivered; it is sent again", "workload", workload, "error", err)
		s.owe(workload)
		s.looks.addLater(workload, lookAgain)
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
