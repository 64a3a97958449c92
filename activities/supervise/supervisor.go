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
	lookers       = 4
	lookTimeout   = 15 * time.Second
	sendTimeout   = 5 * time.Second
	lookAgain     = 3 * time.Second
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
	queue    *queue

	mu   sync.Mutex
	seq  int64
	sent map[string]sent
	// owed are the workloads of which nothing has been told under this lease, though they were there when it began.
	owed     map[string]bool
	restarts map[string]*restartState
}

// New returns a supervisor. Run makes it work.
func New(c Config) *Supervisor {
	s := &Supervisor{
		Config: c, runtimes: map[v1.Kind]step.Runtime{}, queue: newQueue(),
		sent: map[string]sent{}, owed: map[string]bool{}, restarts: map[string]*restartState{},
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
	for range lookers {
		wg.Go(func() {
			for {
				name, ok := s.queue.next(ctx)
				if !ok {
					return
				}
				s.look(ctx, name)
				s.queue.done(name)
			}
		})
	}
	wg.Wait()
}

// Look asks for a look at a workload, soon.
func (s *Supervisor) Look(workload string) { s.queue.add(workload) }

// Admit forgets what was told before: a new lease is told everything again.
func (s *Supervisor) Admit() {
	all := s.Store.List()
	s.mu.Lock()
	s.sent, s.owed = map[string]sent{}, make(map[string]bool, len(all))
	for _, r := range all {
		s.owed[r.Workload] = true
	}
	s.mu.Unlock()
	for _, r := range all {
		s.Look(r.Workload)
	}
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

// look observes one workload, starts it again if that is the host's to do, and tells the control plane.
func (s *Supervisor) look(ctx context.Context, workload string) {
	r, err := s.Store.Get(workload)
	if err != nil || r.Fence == 0 || r.Open || r.Wanted != record.WantedRunning || r.Spec == nil {
		return // nothing to say: an action is open, or nothing should run
	}
	rt, ok := s.runtimes[r.Kind]
	if !ok {
		return
	}
	lctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	o, err := rt.Observe(lctx, r)
	if err != nil {
		// Unobservable changes nothing. The runtime's return is an event; this stands behind it.
		s.Log.Debug("workload could not be observed", "workload", workload, "error", err)
		s.queue.addLater(ctx, workload, lookAgain)
		return
	}
	s.explainStop(r, o)
	if r.Attempt > 0 {
		o = s.keepExit(ctx, r, o)
	} else if o.State == contract.RunExited && o.Exit != nil {
		s.restartLater(ctx, rt, r, *o.Exit)
	} else if o.State == contract.RunRunning {
		s.noteRunning(workload)
	}
	s.tell(ctx, r, o)
}

// keepExit makes the end of a job's attempt durable, and recalls it when the container is gone.
func (s *Supervisor) keepExit(ctx context.Context, r record.Record, o contract.Observation) contract.Observation {
	switch {
	case r.Exit != nil:
		o.State, o.Exit = contract.RunExited, r.Exit
	case o.State == contract.RunExited && o.Exit != nil:
		if err := s.Runner.KeepExit(ctx, r.Workload, r.Fence, *o.Exit); err != nil {
			s.Log.Warn("a job's exit could not be kept", "workload", r.Workload, "error", err)
		}
	}
	return o
}

// tell sends an observation, unless it says what was said before.
func (s *Supervisor) tell(ctx context.Context, r record.Record, o contract.Observation) {
	o.Host, o.Fence, o.Attempt, o.Restarts, o.BootID = s.Host, r.Fence, r.Attempt, r.Restarts, s.BootID
	o.LeaseNo = s.Member.LeaseNo()
	if o.LeaseNo == 0 {
		return // never admitted: everything is told at the first hello
	}
	s.mu.Lock()
	if s.answered(r, o) {
		s.mu.Unlock()
		return
	}
	delete(s.owed, r.Workload)
	later, repeated := s.fold(r.Workload, o, time.Now())
	s.seq++
	o.Seq, o.Repeated = s.seq, repeated
	s.mu.Unlock()
	switch {
	case later < 0:
		return
	case later > 0:
		s.queue.addLater(ctx, r.Workload, later)
		return
	}
	sctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	err := s.Send(sctx, r.Workload, o)
	var gone *serviceerror.NotFound
	switch {
	case err == nil:
	case errors.As(err, &gone):
		s.Log.Warn("no such workload in the fleet; what is on the host is left alone", "workload", r.Workload)
	default:
		s.Log.Warn("observation not delivered; it is sent again", "workload", r.Workload, "error", err)
		s.mu.Lock()
		delete(s.sent, r.Workload)
		s.owed[r.Workload] = true
		s.mu.Unlock()
		s.queue.addLater(ctx, r.Workload, lookAgain)
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
