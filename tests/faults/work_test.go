package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/host"
)

// work is a workload of a case, and what it must have come to so far. Its methods are called from goroutines: they know
// no testing.T.
type work struct {
	scenario scenario
	name     string
	number   int
	image    served

	power      power
	starts     int
	disks      string
	generation int64
	// purged says that its volumes are to go with it.
	purged bool
}

// newWork names a workload. It is for the test's own goroutine.
func (f *fleet) newWork(s scenario) *work {
	f.cases++
	w := &work{scenario: s, name: fmt.Sprintf("%s-%d", s.name, f.cases), number: f.cases, power: gone}
	if s.prepare != nil {
		s.prepare(f, w)
	}
	return w
}

func (w *work) domain(f *fleet) string { return "berth." + f.ID + "." + hostName + "." + w.name }

// begin brings a fresh workload to where a verb begins.
func (w *work) begin(ctx context.Context, f *fleet, verbName string) error {
	for _, before := range verbs[verbName].before {
		v := verbs[before]
		a, err := v.do(ctx, f, w)
		if err == nil {
			err = w.end(ctx, f, v, a)
		}
		if err != nil {
			return fmt.Errorf("before the fault, %s: %w", before, err)
		}
	}
	return nil
}

// end waits until a verb has been carried out, and checks what there is on the host and in its ledger.
func (w *work) end(ctx context.Context, f *fleet, v verb, a v1.Accepted) error {
	w.starts += v.starts
	w.power, w.purged = v.power, v.purges
	if a.Generation > 0 {
		w.generation = a.Generation
	}
	err := until(ctx, within, func(ctx context.Context) error {
		view, err := f.client.Get(ctx, w.name)
		switch {
		case v.phase == "" && client.IsNotFound(err):
			return nil
		case err != nil:
			return err
		case v.phase == "":
			return fmt.Errorf("it is not gone: %+v", view.Status)
		}
		return v.settled(w, view, a)
	})
	if err != nil {
		return err
	}
	// A settled workload's reservation follows by a signal; a repaired or restarted one by what the host does.
	return until(ctx, within/3, func(ctx context.Context) error {
		return errors.Join(w.checkHost(f), w.checkLedger(ctx, f, v.phase))
	})
}

// checkHost complains unless the host holds exactly what it should.
func (w *work) checkHost(f *fleet) error {
	s, err := w.scenario.look(f, w)
	if err != nil {
		return err
	}
	want := sight{power: w.power, starts: w.starts, generation: w.generation, disks: s.disks}
	switch {
	case w.power == gone:
		want = sight{power: absent, starts: s.starts}
		if !w.scenario.machine && !w.purged {
			want.disks = w.disks // named volumes stay
		}
	case w.power == absent:
		want.generation = 0
	case w.disks == "":
		w.disks = s.disks
	case s.disks != w.disks:
		return fmt.Errorf("its disks were made again: they were %s, and are %s", w.disks, s.disks)
	}
	if s != want {
		return fmt.Errorf("the host has %+v, not %+v", s, want)
	}
	return nil
}

// checkLedger complains unless the host's ledger holds what the workload takes now.
func (w *work) checkLedger(ctx context.Context, f *fleet, phase v1.Phase) error {
	value, err := f.temporal.QueryWorkflow(ctx, contract.HostID(hostName), "", contract.QueryHostFull)
	if err != nil {
		return err
	}
	var s host.State
	if err := value.Get(&s); err != nil {
		return err
	}
	e, held := s.Ledger.Entries[w.name]
	if w.power == gone {
		if held {
			return fmt.Errorf("the ledger still holds %+v", e)
		}
		return nil
	}
	switch {
	case !held:
		return fmt.Errorf("the ledger holds nothing of %s but of %s", w.name, strings.Join(slices.Sorted(maps.Keys(s.Ledger.Entries)), " "))
	case !e.Bound || e.Old != nil:
		return fmt.Errorf("the ledger did not settle: %+v", e)
	case (phase == v1.PhaseRunning) != (e.Needs.Amount.Memory > 0):
		return fmt.Errorf("the ledger holds %+v of a workload that is %s", e.Needs.Amount, phase)
	}
	return nil
}
