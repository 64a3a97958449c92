// Package guard is a process of its own on a host, which needs neither Temporal nor the agent: when the agent's lease has ended
// and the agent, dead or frozen, has not stopped the strict workloads, the guard does.
package guard

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/berth-dev/berth/activities/deadline"
	"github.com/berth-dev/berth/activities/strict"
)

const (
	// lookEvery is how often the deadline file is read.
	lookEvery = 250 * time.Millisecond
	// beatEvery is how often the guard shows that it is there.
	beatEvery = time.Second
	// stopAgain is the pause before a stopped workload is looked at again, as long as the lease is not renewed.
	stopAgain = 2 * time.Second
	// agentWait is how long a killed agent may take to be gone.
	agentWait = 2 * time.Second
)

// Config says which host's agent to guard.
type Config struct {
	// RunDir, Fleet and Host are as in the agent's settings.
	RunDir, Fleet, Host string
}

// Guard guards the strict workloads of one host.
type Guard struct {
	dir     deadline.Dir
	log     *slog.Logger
	release func() error
	engines engines
	// last is the deadline file as it could last be read, unread whether it can't be now. They are Run's own.
	last   deadline.File
	unread bool

	mu       sync.Mutex
	stopping map[string]bool
	running  sync.WaitGroup
}

// New takes hold of the host's run directory. There is one guard a host.
func New(cfg Config, log *slog.Logger) (*Guard, error) {
	g := &Guard{
		dir: deadline.DirOf(cfg.RunDir, cfg.Fleet, cfg.Host), log: log.With("host", cfg.Host),
		stopping: map[string]bool{},
	}
	g.engines.log = g.log
	var err error
	g.release, err = g.dir.Hold(deadline.Guard)
	return g, err
}

// Run guards until ctx ends.
func (g *Guard) Run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	defer g.running.Wait()
	var beaten time.Time
	for {
		if time.Since(beaten) >= beatEvery {
			beaten = time.Now()
			if err := g.dir.Beat(); err != nil {
				g.log.Error("the guard can't show that it is there", "error", err)
			}
		}
		if p, f := g.look(); len(p.stops) > 0 {
			g.act(ctx, p, f)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Close gives up what the guard holds. Run has returned.
func (g *Guard) Close() error { return errors.Join(g.engines.close(), g.release()) }

// look says what is to be done by the file as it is now. One that was lost, or can't be read, still holds: the agent can't
// renew it either.
func (g *Guard) look() (plan, deadline.File) {
	f, err := g.dir.Read()
	notYet := errors.Is(err, os.ErrNotExist) && g.last.BootID == ""
	if err == nil {
		g.last = f
	} else if !g.unread && !notYet {
		g.log.Error("the deadline can't be read; the last one that was stands", "error", err)
	}
	g.unread = err != nil
	return planFor(g.last, deadline.BootID(), deadline.Now()), g.last
}

// act kills the agent if need be, and then stops what is still to be stopped: the agent may have renewed its lease in its last
// moment.
func (g *Guard) act(ctx context.Context, p plan, f deadline.File) {
	if p.killAgent && f.Agent.Runs() {
		g.log.Warn("the agent has outlived its lease, and strict workloads with it: killing it", "pid", f.Agent.PID)
		if err := f.Agent.Kill(agentWait); err != nil {
			g.log.Error("the agent can't be killed", "error", err)
		}
		p, f = g.look()
	}
	for _, s := range p.stops {
		if g.begin(s.Workload) {
			g.running.Go(func() { g.stop(ctx, f, s) })
		}
	}
}

// stop ends one workload, and keeps the guard from doing so again for a moment longer.
func (g *Guard) stop(ctx context.Context, f deadline.File, s stop) {
	defer g.end(s.Workload)
	halter, err := g.engines.halter(f, s.Kind)
	if err != nil {
		g.log.Error("no runtime to stop a strict workload with", "workload", s.Workload, "error", err)
	}
	err = strict.End(ctx, halter, s.Runtime, s.grace, func() {
		g.log.Warn("stopping a strict workload that has outlived the lease", "workload", s.Workload, "grace", s.grace)
		if err := g.dir.NoteStopped(s.Workload); err != nil {
			g.log.Warn("its stop can't be noted", "workload", s.Workload, "error", err)
		}
	})
	if err != nil && ctx.Err() == nil {
		g.log.Error("a strict workload can't be stopped; it is tried again", "workload", s.Workload, "error", err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(stopAgain):
	}
}

// begin reports whether nobody is stopping the workload yet.
func (g *Guard) begin(workload string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopping[workload] {
		return false
	}
	g.stopping[workload] = true
	return true
}

func (g *Guard) end(workload string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.stopping, workload)
}
