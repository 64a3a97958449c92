package strict

import (
	"context"
	"slices"
	"time"

	"github.com/berth-dev/berth/activities/deadline"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// lookLimit bounds the look at a workload's processes, which the guard can mostly do without.
const lookLimit = 3 * time.Second

// Enter lets a step start a strict workload. The guard knows of it before anything runs.
func (k *Keeper) Enter(w v1.Workload) (leave func(started bool), err error) {
	name := w.Metadata.Name
	if err := k.MayStart(name); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	err = k.update(func(f *deadline.File) {
		next := runtimeOf(w)
		if before := entry(f, name); before != nil {
			next.Processes = before.Processes
			*before = next
			return
		}
		f.Runtimes = append(f.Runtimes, next)
	})
	if err != nil {
		return nil, contract.Retryable(v1.ReasonRuntimeUnavailable, "look at the host's --run-dir", "the host's guard can't be told of %s", name).WithCause(err)
	}
	k.starting[name]++
	return func(started bool) { k.left(w, started) }, nil
}

// MayStart says why a strict workload may not be started now, if so.
func (k *Keeper) MayStart(workload string) error {
	if !k.Guarded() {
		return contract.Retryable(v1.ReasonRuntimeUnavailable, "start `berth guard` on the host", "no guard runs on host %s", k.Host)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case !k.live():
		return contract.Retryable(v1.ReasonHostOffline, "it goes on when the host's agent reaches the fleet", "host %s holds no lease", k.Host)
	case k.owed[workload]:
		return contract.Retryable(v1.ReasonHostLost, "nothing to do: it is removed here", "%s was moved away from host %s", workload, k.Host)
	default:
		return nil
	}
}

// left notes what runs after a step.
func (k *Keeper) left(w v1.Workload, started bool) {
	name := w.Metadata.Name
	processes := k.processes(w.Kind, name)
	if started {
		if err := k.Dir.ForgetStopped(name); err != nil {
			k.Log.Warn("a strict workload's stop can't be forgotten", "workload", name, "error", err)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.starting[name]--; k.starting[name] == 0 {
		delete(k.starting, name)
	}
	known := entry(&k.file, name)
	if known == nil || len(processes) == 0 || slices.Equal(known.Processes, processes) {
		return
	}
	if err := k.update(func(f *deadline.File) { entry(f, name).Processes = processes }); err != nil {
		k.Log.Warn("the guard can't be told of a strict workload's processes", "workload", name, "error", err)
	}
}

// processes are a workload's, as far as they can be had in a moment. Without them the guard relies on the runtime.
func (k *Keeper) processes(kind v1.Kind, workload string) (processes []deadline.Process) {
	h := k.halters[kind]
	if h == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookLimit)
	defer cancel()
	pids, err := h.Processes(ctx, workload)
	if err != nil {
		k.Log.Warn("a strict workload's processes are not known; the guard relies on the runtime", "workload", workload, "error", err)
	}
	for _, pid := range pids {
		if p, err := deadline.ProcessOf(pid); err == nil {
			processes = append(processes, p)
		}
	}
	return processes
}

// Gone takes a workload out of the file: nothing of it runs here, or it is strict no more.
func (k *Keeper) Gone(workload string) {
	if err := k.Dir.ForgetStopped(workload); err != nil {
		k.Log.Warn("a strict workload's stop can't be forgotten", "workload", workload, "error", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.owed, workload)
	if entry(&k.file, workload) == nil {
		return
	}
	err := k.update(func(f *deadline.File) {
		f.Runtimes = slices.DeleteFunc(f.Runtimes, func(r deadline.Runtime) bool { return r.Workload == workload })
	})
	if err != nil {
		k.Log.Warn("the guard can't be told that a strict workload is gone", "workload", workload, "error", err)
	}
}

// WasStopped reports whether a workload was stopped because the lease ended, by this agent or the guard, and not started
// since.
func (k *Keeper) WasStopped(workload string) bool { return k.Dir.WasStopped(workload) }
