package faults

import (
	"context"
	"fmt"

	"github.com/berth-dev/berth/api/client"
	"github.com/berth-dev/berth/api/manifest"
	v1 "github.com/berth-dev/berth/api/v1"
)

// power is where a workload's container or domain stands.
type power string

const (
	running power = "running"
	stopped power = "stopped"
	// absent is what has no container or domain any more, but its volumes or disks; gone has nothing.
	absent power = "absent"
	gone   power = "gone"
)

// verb is what a user does to a workload, or what it does by itself, and how it must end.
type verb struct {
	// before are the verbs that bring a fresh workload to where this one begins.
	before []string
	do     func(ctx context.Context, f *fleet, w *work) (v1.Accepted, error)
	// phase is what must show at the end; none means that the workload is gone.
	phase v1.Phase
	power power
	// starts is how often it starts the container or domain. What ended by itself is started by the host.
	starts int
	byHost bool
	// purges says that volumes go too: without it they outlive the workload.
	purges bool
}

var verbs = map[string]verb{
	"deploy":  {do: put(1), phase: v1.PhaseRunning, power: running, starts: 1},
	"run":     {do: put(1), phase: v1.PhaseSucceeded, power: absent, starts: 1},
	"update":  {before: []string{"deploy"}, do: put(2), phase: v1.PhaseRunning, power: running, starts: 1},
	"restart": {before: []string{"deploy"}, do: ask(v1.VerbRestart), phase: v1.PhaseRunning, power: running, starts: 1},
	"stop":    {before: []string{"deploy"}, do: ask(v1.VerbStop), phase: v1.PhaseStopped, power: stopped},
	"start":   {before: []string{"deploy", "stop"}, do: ask(v1.VerbStart), phase: v1.PhaseRunning, power: running, starts: 1},
	"exit":    {before: []string{"deploy"}, do: exit, phase: v1.PhaseRunning, power: running, starts: 1, byHost: true},
	"end":     {before: []string{"deploy"}, do: exit, phase: v1.PhaseFailed, power: absent},
	"remove":  {before: []string{"deploy"}, do: ask(v1.VerbRemove), power: gone},
	"purge":   {before: []string{"deploy"}, do: purge, power: gone, purges: true},
	// Somebody started the stopped domain by hand, and left it paused.
	"pause":  {do: pause, phase: v1.PhaseStopped, power: running, starts: 1},
	"resume": {before: []string{"deploy", "stop", "pause"}, do: ask(v1.VerbStart), phase: v1.PhaseRunning, power: running},
}

func put(generation int) func(context.Context, *fleet, *work) (v1.Accepted, error) {
	return func(ctx context.Context, f *fleet, w *work) (v1.Accepted, error) {
		docs, err := manifest.Parse(w.name, []byte(w.scenario.spec(f, w, generation)))
		if err != nil {
			return v1.Accepted{}, err
		}
		return f.client.Put(ctx, docs[0].Workload, false, client.Change{})
	}
}

func ask(verb v1.Verb) func(context.Context, *fleet, *work) (v1.Accepted, error) {
	return func(ctx context.Context, f *fleet, w *work) (v1.Accepted, error) {
		return f.client.Do(ctx, w.name, verb, client.Change{})
	}
}

func purge(ctx context.Context, f *fleet, w *work) (v1.Accepted, error) {
	return f.client.Do(ctx, w.name, v1.VerbRemove, client.Change{Volumes: true})
}

// exit lets the workload die as if by itself.
func exit(ctx context.Context, f *fleet, w *work) (v1.Accepted, error) {
	if w.scenario.machine {
		return v1.Accepted{}, virsh(ctx, "destroy", w.domain(f))
	}
	return v1.Accepted{}, killProcess(ctx, f, w)
}

func pause(ctx context.Context, f *fleet, w *work) (v1.Accepted, error) {
	return v1.Accepted{}, virsh(ctx, "start", w.domain(f), "--paused")
}

// settled complains unless the verb has been carried out.
func (v verb) settled(w *work, view v1.View, a v1.Accepted) error {
	s := view.Status
	counted := s.Restarts == 0
	if v.byHost && !w.scenario.machine { // a domain that was destroyed from outside was interrupted: that is not counted
		// The host counts before it starts: if it is killed between the two, it counts one too many.
		counted = s.Restarts == 1 || s.Restarts == 2
	}
	if s.Seq < a.Seq || !s.Settled || s.Action != nil || s.Phase != v.phase || !counted {
		return fmt.Errorf("it is %s, not %s: %+v", s.Phase, v.phase, s)
	}
	return nil
}
