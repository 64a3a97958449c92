// Package strict is the agent's part in the promise that a strict workload has at most one copy at any moment: nothing strict
// is started without a live lease, and what runs is stopped when the lease ends. What the agent knows of it stands in the
// deadline file, from which the guard does the same when the agent is dead or frozen.
package strict

import (
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/berth-dev/berth/activities/deadline"
	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Config is what a Keeper works with.
type Config struct {
	Dir         deadline.Dir
	Fleet, Host string
	// DockerHost and LibvirtURI are passed on to the guard.
	DockerHost, LibvirtURI string
	Runtimes               []step.Runtime
	// Ready is called with each strict workload when it may be started again.
	Ready func(workload string)
	Log   *slog.Logger
}

// Keeper keeps the deadline of one host and what must not outlive it. It is safe for concurrent use.
type Keeper struct {
	Config
	halters map[v1.Kind]step.Halter
	release func() error

	mu   sync.Mutex
	file deadline.File
	// starting counts the steps under way that may start a workload.
	starting map[string]int
	// owed are workloads that the host was told to let go: they may run elsewhere.
	owed map[string]bool
	// halting are workloads that are being ended, or were a moment ago.
	halting map[string]bool
}

var _ step.Strict = (*Keeper)(nil)

// Open takes over from the agent's last process: its deadline stands until a beat is acknowledged. Without a file of this boot
// there is no lease, and whatever strict runs by the records is stopped.
func Open(cfg Config, records []record.Record) (*Keeper, error) {
	release, err := cfg.Dir.Hold(deadline.Agent)
	if err != nil {
		return nil, err
	}
	k := &Keeper{
		Config: cfg, release: release, halters: map[v1.Kind]step.Halter{},
		starting: map[string]int{}, owed: map[string]bool{}, halting: map[string]bool{},
	}
	for _, rt := range cfg.Runtimes {
		if h, ok := rt.(step.Halter); ok {
			k.halters[rt.Kind()] = h
		}
	}
	if err := k.takeOver(records); err != nil {
		return nil, errors.Join(err, release())
	}
	return k, nil
}

// Close lets another process take over.
func (k *Keeper) Close() error { return k.release() }

func (k *Keeper) takeOver(records []record.Record) error {
	self, err := deadline.Self()
	if err != nil {
		return err
	}
	f := deadline.File{
		BootID: deadline.BootID(), Fleet: k.Fleet, Host: k.Host, Agent: self,
		DockerHost: k.DockerHost, LibvirtURI: k.LibvirtURI,
	}
	before, err := k.Dir.Read()
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		k.Log.Warn("the deadline of the agent's last process can't be read; strict workloads are stopped until the lease is renewed", "error", err)
	case err == nil && before.BootID == f.BootID:
		f.Deadline, f.Runtimes = before.Deadline, before.Runtimes
		for i := range f.Runtimes {
			f.Runtimes[i].Stopped = false
		}
	}
	for _, r := range records {
		if r.Wanted == record.WantedRunning && r.Spec != nil && r.Spec.Spec() != nil && r.Spec.Spec().Strict && entry(&f, r.Workload) == nil {
			f.Runtimes = append(f.Runtimes, runtimeOf(*r.Spec))
		}
	}
	k.file = f
	return k.Dir.Write(f)
}

func runtimeOf(w v1.Workload) deadline.Runtime {
	return deadline.Runtime{Workload: w.Metadata.Name, Kind: w.Kind, Grace: w.Spec().StopGracePeriod.D()}
}

// Welcomed takes the debts that came with a new lease, before that lease can be live.
func (k *Keeper) Welcomed(debts []contract.Debt) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.owed = make(map[string]bool, len(debts))
	for _, d := range debts {
		k.owed[d.Workload] = true
	}
}

// Paid takes a debt that was paid.
func (k *Keeper) Paid(workload string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.owed, workload)
}

// Renewed takes the deadline that an acknowledged beat gave. If it can't be written the old one stands, as it does for the
// guard.
func (k *Keeper) Renewed(until time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.update(func(f *deadline.File) { f.Deadline, f.Held, f.Stopping = until, true, false })
	if err != nil {
		k.Log.Error("the deadline can't be written: strict workloads are stopped at the old one", "error", err)
	}
}

// Guarded reports whether the host's guard runs.
func (k *Keeper) Guarded() bool { return k.Dir.Guarded() }

// live reports whether this process holds the lease.
func (k *Keeper) live() bool { return k.file.Held && deadline.Now() < k.file.Deadline }

// update changes the file, and what is known here only if the file could be written.
func (k *Keeper) update(change func(*deadline.File)) error {
	f := k.file
	f.Runtimes = slices.Clone(f.Runtimes)
	change(&f)
	if err := k.Dir.Write(f); err != nil {
		return err
	}
	k.file = f
	return nil
}

// entry finds a workload in a file, or nil.
func entry(f *deadline.File, workload string) *deadline.Runtime {
	for i := range f.Runtimes {
		if f.Runtimes[i].Workload == workload {
			return &f.Runtimes[i]
		}
	}
	return nil
}
