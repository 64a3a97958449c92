package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/berth-dev/berth/activities/boot"
	"github.com/berth-dev/berth/activities/container"
	"github.com/berth-dev/berth/activities/inventory"
	"github.com/berth-dev/berth/activities/lease"
	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	"github.com/berth-dev/berth/activities/strict"
	"github.com/berth-dev/berth/activities/supervise"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// stopTimeout is how long work under way may take to hand over when the agent is stopped.
	stopTimeout = 10 * time.Second
	// probeEvery is how often the runtimes are asked whether they are there.
	probeEvery   = 3 * time.Second
	probeTimeout = 5 * time.Second
)

// Agent is one host's member of the fleet.
type Agent struct {
	cfg        Config
	client     client.Client
	log        *slog.Logger
	instance   string
	boot       boot.Boot
	store      *record.Store
	runner     *step.Runner
	runtimes   []step.Runtime
	holder     *lease.Holder
	supervisor *supervise.Supervisor
	memory     *memory
	inventory  *inventory.Activities
	// strict is nil on a synthetic host, which takes no strict workloads.
	strict  *strict.Keeper
	cleanup []func() error

	mu sync.Mutex
	// admitted is true once the fleet admitted this host since it booted, member from an admission to the lease's end.
	admitted bool
	member   bool
	workers  []worker.Worker
}

// Run is the agent's life: it says hello until it is admitted, polls, holds its lease, and says hello again when the lease
// has ended. It returns when ctx ends, or with an error when the fleet refuses it.
func (a *Agent) Run(ctx context.Context) error {
	sctx, stopSupervisor := context.WithCancel(ctx)
	var supervising sync.WaitGroup
	supervising.Go(func() { a.supervisor.Run(sctx) })
	supervising.Go(func() { a.watchRuntimes(sctx) })
	supervising.Go(func() { a.holder.Watch(sctx) })
	if a.strict != nil {
		supervising.Go(func() { a.strict.Run(sctx) })
	}
	defer supervising.Wait()
	defer stopSupervisor()
	defer a.stopWorkers()
	for {
		welcome, ended, err := a.holder.Hello(ctx, a.hello, a.cfg.Timings)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		a.log.Info("admitted", "lease", welcome.LeaseNo)
		if err := a.memory.admitted(welcome.LeaseNo, time.Now()); err != nil {
			// A full disk is no reason to leave: the fleet would move away what runs well.
			a.log.Error("what is remembered of the fleet can't be written", "error", err)
		}
		// Polling first: the lease waits for nothing. The fleet binds no new work here before the debts are paid, and
		// nothing is started again by ourselves either.
		if err := a.startWorkers(); err != nil {
			return err
		}
		a.payDebts(ctx, welcome.Debts)
		a.admit()
		lctx, leaseOver := context.WithCancel(sctx)
		supervising.Go(func() { a.tellUnrecorded(lctx) })
		goesOn := a.await(ctx, ended, welcome.Timings)
		leaseOver()
		if !goesOn {
			return nil
		}
		a.setMember(false)
	}
}

// await returns true when hello must be said again, and false when ctx has ended.
func (a *Agent) await(ctx context.Context, ended <-chan struct{}, t contract.Timings) bool {
	// A lease whose activity never arrives ends on the server alone: look whether it is live.
	check := time.NewTicker(t.Lease + t.Beat)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-ended:
			return ctx.Err() == nil
		case <-check.C:
			if !a.holder.Live() {
				a.log.Warn("the lease is not live; saying hello again")
				return true
			}
		}
	}
}

func (a *Agent) hello(ctx context.Context) contract.Hello {
	h := contract.Hello{
		Host: a.cfg.Host, Fleet: a.cfg.Fleet, Instance: a.instance, BootID: a.boot.ID,
		Contract: contractNumber(), Version: a.cfg.Version, Labels: a.cfg.Labels, Devices: a.cfg.AllowDevices, DeviceNames: a.deviceNames(),
		Capacity: capacity(a.cfg.DataDir, a.cfg.Capacity), Runtimes: a.probe(ctx), Guard: a.guarded(),
	}
	for _, r := range a.store.List() {
		if !r.Tombstone() {
			h.Holds = append(h.Holds, contract.Held{Workload: r.Workload, Kind: r.Kind, Fence: r.Fence, State: string(r.Wanted)})
		}
	}
	return h
}

func (a *Agent) admit() {
	if err := noteAdmitted(a.cfg.DataDir, a.boot.ID); err != nil {
		// Only an agent that is started again without the fleet misses it.
		a.log.Error("the admission can't be noted", "error", err)
	}
	a.mu.Lock()
	a.admitted = true
	a.mu.Unlock()
	a.holder.Resume()
	a.setMember(true)
	a.supervisor.Admit()
}

func (a *Agent) setMember(member bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.member = member
}

// startWorkers polls the host's queues. A member that says hello again keeps its workers.
func (a *Agent) startWorkers() error {
	if len(a.workers) > 0 {
		return nil
	}
	for _, w := range newWorkers(a) {
		if err := w.Start(); err != nil {
			return errors.Join(fmt.Errorf("poll the host's queues: %w", err))
		}
		a.workers = append(a.workers, w)
	}
	return nil
}

// stopWorkers hands over: activities see the worker stop, HoldLease says goodbye, and work in the drivers is let go.
func (a *Agent) stopWorkers() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	var stopping sync.WaitGroup
	for _, w := range a.workers {
		stopping.Go(w.Stop)
	}
	stopping.Wait()
	a.runner.Stop(ctx)
}

// Close gives up what the agent holds open. Run has returned.
func (a *Agent) Close() error {
	var errs []error
	for _, f := range slices.Backward(a.cleanup) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

func (a *Agent) probe(ctx context.Context) []v1.Runtime {
	probed := make([]v1.Runtime, len(a.runtimes))
	var wg sync.WaitGroup
	for i, rt := range a.runtimes {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, probeTimeout)
			defer cancel()
			probed[i] = rt.Probe(ctx)
		})
	}
	wg.Wait()
	return probed
}

// deviceNames is nil on a synthetic host, which has no devices.
func (a *Agent) deviceNames() map[string]string {
	if a.strict == nil {
		return nil
	}
	return container.DeviceNames(a.cfg.AllowDevices)
}

func (a *Agent) guarded() bool { return a.strict != nil && a.strict.Guarded() }

// watchRuntimes tells the fleet when a runtime, the guard or a device's name comes or goes, so that work for it is taken as soon as it is there.
func (a *Agent) watchRuntimes(ctx context.Context) {
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	var told contract.Capability
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := contract.Capability{LeaseNo: a.holder.LeaseNo(), Runtimes: a.probe(ctx), Guard: a.guarded(), DeviceNames: a.deviceNames()}
		if now.LeaseNo == 0 || ctx.Err() != nil || reflect.DeepEqual(now, told) {
			continue
		}
		sctx, cancel := context.WithTimeout(ctx, probeTimeout)
		signal := now
		signal.Capacity = capacity(a.cfg.DataDir, a.cfg.Capacity)
		err := a.client.SignalWorkflow(sctx, contract.HostID(a.cfg.Host), "", contract.SignalCapability, signal)
		cancel()
		if err != nil {
			a.log.Warn("the runtimes' state could not be told; it is told again", "error", err)
			continue
		}
		told = now
	}
}
