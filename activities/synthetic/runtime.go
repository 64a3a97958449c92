// Package synthetic runs workloads in memory: nothing is started, but every step takes its time, may fail, and leaves what a
// real runtime would leave, as far as the control plane can tell. It is for fleets of hundreds of hosts on one machine, and
// for measuring what Berth itself costs.
//
// What runs lives in the process alone. After a restart of the agent everything is absent, as on a machine whose guests died
// with it, and is repaired.
package synthetic

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// version is what Probe shows where a real runtime shows its own.
const version = "in memory"

// Config says how long things take and how often they fail. The zero Config does everything at once and never fails.
type Config struct {
	// Delays are how long each step takes.
	Delays map[contract.Step]time.Duration
	// Failures are how often each step fails before it has changed anything, from 0 to 1. The failure is retryable.
	Failures map[contract.Step]float64
	// JobTime is how long a job's attempt runs before it exits.
	JobTime time.Duration
	// JobFailures is how often an attempt exits with code 1 instead of 0, from 0 to 1.
	JobFailures float64
	// ServiceTime is how long a service runs before it exits with code 1. Zero is for ever.
	ServiceTime time.Duration
}

// Runtime runs one kind of workload in memory. It implements step.Runtime.
type Runtime struct {
	kind v1.Kind
	host string
	cfg  Config

	mu       sync.Mutex
	guests   map[string]*guest
	watchers map[int]func(workload string)
	nextID   int
}

var _ step.Runtime = (*Runtime)(nil)

// New returns a runtime for one kind on one host, with nothing on it. The kind is v1.KindContainer or v1.KindVM.
func New(kind v1.Kind, host string, cfg Config) *Runtime {
	return &Runtime{kind: kind, host: host, cfg: cfg, guests: map[string]*guest{}, watchers: map[int]func(string){}}
}

// Kind is the kind that it was made for.
func (r *Runtime) Kind() v1.Kind { return r.kind }

// Steps are those of the kind's real runtime.
func (r *Runtime) Steps() map[contract.Step]step.Func {
	steps := map[contract.Step]step.Func{
		contract.StepPrepare:     r.nothing,
		contract.StepStart:       r.start,
		contract.StepAwaitReady:  r.awaitReady,
		contract.StepStop:        r.stop,
		contract.StepRemove:      r.remove,
		contract.StepAcknowledge: r.acknowledge,
	}
	if r.kind == v1.KindVM {
		steps[contract.StepCreate] = r.create
	}
	for name, do := range maps.Clone(steps) {
		steps[name] = r.taking(name, do)
	}
	return steps
}

// Probe is always content. The name says the kind as well, so that each can be switched off by itself.
func (r *Runtime) Probe(context.Context) v1.Runtime {
	return v1.Runtime{Name: "synthetic-" + r.prefix(), Kinds: []v1.Kind{r.kind}, Version: version, Ready: true}
}

// Watch tells of every change to a guest until ctx ends.
func (r *Runtime) Watch(ctx context.Context, changed func(workload string)) error {
	r.mu.Lock()
	r.nextID++
	id := r.nextID
	r.watchers[id] = changed
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.watchers, id)
	}()
	changed("")
	<-ctx.Done()
	return ctx.Err()
}

// tell tells all watchers. The lock is not held: they may come back with questions.
func (r *Runtime) tell(workload string) {
	r.mu.Lock()
	watchers := make([]func(string), 0, len(r.watchers))
	for _, w := range r.watchers {
		watchers = append(watchers, w)
	}
	r.mu.Unlock()
	for _, w := range watchers {
		w(workload)
	}
}
