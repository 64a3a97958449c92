package synthetic

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// logLines are how many lines of a guest are kept.
const logLines = 50

// guest is what stands for a container or a domain.
type guest struct {
	id         string
	generation int64
	fence      int64
	madeAt     time.Time
	attempt    int
	job        bool
	running    bool
	startedAt  time.Time
	// exit is how it ended by itself or by a stop; nil while it runs and before it ever did.
	exit *contract.Exit
	// timer ends it by itself.
	timer *time.Timer
	lines []string
}

// fits reports whether a guest is the one that an action wants.
func (g *guest) fits(ref contract.Ref) bool {
	return g != nil && g.generation == ref.Generation && g.attempt == ref.Attempt
}

func (g *guest) say(now time.Time, format string, args ...any) {
	g.lines = append(g.lines, now.UTC().Format(time.RFC3339Nano)+" "+fmt.Sprintf(format, args...))
	if n := len(g.lines) - logLines; n > 0 {
		g.lines = g.lines[n:]
	}
}

// get returns a copy of a guest, or nil if there is none.
func (r *Runtime) get(workload string) *guest {
	r.mu.Lock()
	defer r.mu.Unlock()
	g, ok := r.guests[workload]
	if !ok {
		return nil
	}
	c := *g
	return &c
}

// define makes a guest in the place of whatever was there.
func (r *Runtime) define(ref contract.Ref, spec v1.Workload) {
	g := &guest{id: uuid.NewString(), generation: ref.Generation, fence: ref.Fence, madeAt: time.Now(), attempt: ref.Attempt}
	if c := spec.Spec(); c != nil {
		g.job = c.Type == v1.TypeJob
	}
	r.mu.Lock()
	r.halt(r.guests[ref.Workload])
	r.guests[ref.Workload] = g
	r.mu.Unlock()
	r.tell(ref.Workload)
}

// launch lets a guest run, and end by itself when its time is over.
func (r *Runtime) launch(workload string) {
	r.mu.Lock()
	if g := r.guests[workload]; g != nil && !g.running {
		g.running, g.exit, g.startedAt = true, nil, time.Now()
		g.say(g.startedAt, "%s started", workload)
		life, code := r.life(g)
		if life > 0 {
			started := g.startedAt
			g.timer = time.AfterFunc(life, func() { r.end(workload, g, started, code) })
		}
	}
	r.mu.Unlock()
	r.tell(workload)
}

// life is how long a guest runs, zero for ever, and the code with which it then exits.
func (r *Runtime) life(g *guest) (time.Duration, int) {
	if !g.job {
		return r.cfg.ServiceTime, 1
	}
	code := 0
	if rand.Float64() < r.cfg.JobFailures { //nolint:gosec // a chance, not a secret
		code = 1
	}
	return max(r.cfg.JobTime, time.Nanosecond), code // a job always ends
}

// end is the end of a guest by itself. It does nothing to one that was stopped, started again or replaced meanwhile.
func (r *Runtime) end(workload string, g *guest, started time.Time, code int) {
	r.mu.Lock()
	current := r.guests[workload] == g && g.running && g.startedAt.Equal(started)
	if current {
		r.exit(g, code)
	}
	r.mu.Unlock()
	if current {
		r.tell(workload)
	}
}

// quit stops a guest that runs; it reports whether it did.
func (r *Runtime) quit(workload string) bool {
	r.mu.Lock()
	stopped := r.halt(r.guests[workload])
	r.mu.Unlock()
	r.tell(workload)
	return stopped
}

// drop removes a guest; it reports whether there was one.
func (r *Runtime) drop(workload string) bool {
	r.mu.Lock()
	g, ok := r.guests[workload]
	r.halt(g)
	delete(r.guests, workload)
	r.mu.Unlock()
	r.tell(workload)
	return ok
}

// halt ends a guest from outside, as a signal does. The caller holds the lock.
func (r *Runtime) halt(g *guest) bool {
	if g == nil || !g.running {
		return false
	}
	r.exit(g, 143)
	return true
}

// exit notes the end of a guest. The caller holds the lock.
func (r *Runtime) exit(g *guest, code int) {
	if g.timer != nil {
		g.timer.Stop()
	}
	now := time.Now()
	g.running, g.timer = false, nil
	g.exit = &contract.Exit{Code: code, Outcome: v1.ReasonExited, At: now}
	g.say(now, "exited with code %d", code)
}
