package sweep

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/workflow"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// atOnce bounds how many activities of one run are under way.
	atOnce = 8
	// pageThings bounds a page of an inventory: some 100 KB.
	pageThings = 400
	// chunkHosts and chunkWants bound how many entities one activity reads.
	chunkHosts = 25
	chunkWants = 200
)

// findHosts finds the hosts, and how they can be asked.
func (r *run) findHosts(ctx workflow.Context) error {
	var found contract.FleetHostsOut
	fctx := workflow.WithActivityOptions(ctx, contract.FleetActivity())
	err := workflow.ExecuteActivity(fctx, contract.ActivityFleetHosts, contract.FleetHostsIn{Hosts: r.request.Hosts}).Get(ctx, &found)
	if err != nil {
		return fmt.Errorf("the fleet's hosts could not be read: %w", contract.FromActivityError(err))
	}
	for _, name := range found.Hosts {
		r.hosts = append(r.hosts, &host{name: name})
	}
	ledgers, err := r.ledgers(ctx, r.hosts)
	if err != nil {
		return err
	}
	for i, h := range r.hosts {
		h.view.Ledger = ledgers[i]
		if !ledgers[i].Online {
			h.away = fmt.Sprintf("it is %s", ledgers[i].State)
		}
	}
	r.namedInVain(found.Unknown)
	return nil
}

// namedInVain fails the run for hosts that it was to look at and nobody expects back: else a schedule that names one would
// sweep nothing for ever, and succeed.
func (r *run) namedInVain(unknown []string) {
	for _, h := range r.hosts {
		if h.view.Ledger.State == v1.HostForgotten && len(r.request.Hosts) > 0 {
			h.away = "it was forgotten: adopt it, or name it no more"
			r.fail("host %s was forgotten", h.name)
		}
	}
	for _, name := range unknown {
		r.hosts = append(r.hosts, &host{name: name, away: "there is no such host: name it no more"})
		r.fail("there is no host %q", name)
	}
}

// readHosts reads what each host holds, several at once. One that does not answer is left alone.
func (r *run) readHosts(ctx workflow.Context) {
	hosts := r.readable()
	parallel(ctx, len(hosts), func(ctx workflow.Context, i int) {
		if err := hosts[i].read(ctx); err != nil {
			hosts[i].away = "it could not be read: " + contract.FromActivityError(err).Message
		}
	})
}

func (h *host) read(ctx workflow.Context) error {
	h.view.ReadAt = workflow.Now(ctx).UnixMilli()
	queue := contract.HostControlQueue(h.name, h.view.Ledger.Instance)
	ctx = workflow.WithActivityOptions(ctx, contract.SweepActivity(queue))
	for after := ""; ; {
		var page contract.InventoryOut
		in := contract.InventoryIn{After: after, Limit: pageThings}
		if err := workflow.ExecuteActivity(ctx, contract.ActivityInventory, in).Get(ctx, &page); err != nil {
			return err
		}
		h.view.Things = append(h.view.Things, page.Things...)
		h.view.Rewound = max(h.view.Rewound, page.Rewound)
		for _, kind := range sortedKeys(page.Unread) {
			if h.view.Unread == nil {
				h.view.Unread = map[contract.ThingKind]string{}
			}
			h.view.Unread[kind] = page.Unread[kind]
		}
		if after = page.Next; after == "" {
			h.notRead()
			return nil
		}
	}
}

// notRead drops the things of kinds that could not be read on every page, and says so.
func (h *host) notRead() {
	if len(h.view.Unread) == 0 {
		return
	}
	var things []contract.Thing
	for _, t := range h.view.Things {
		if h.view.Unread[t.Kind] == "" {
			things = append(things, t)
		}
	}
	h.view.Things = things
	var kinds []string
	for _, kind := range sortedKeys(h.view.Unread) {
		kinds = append(kinds, string(kind)+"s")
	}
	h.message = fmt.Sprintf("its %s were left alone: %s", strings.Join(kinds, ", "), h.view.Unread[sortedKeys(h.view.Unread)[0]])
}

// readLedgers reads the hosts' ledgers, after what the hosts hold: what was made in between stands in them. A host that
// went away meanwhile, or is another, is left alone.
func (r *run) readLedgers(ctx workflow.Context) error {
	hosts := r.readable()
	ledgers, err := r.ledgers(ctx, hosts)
	if err != nil {
		return err
	}
	for i, h := range hosts {
		if !ledgers[i].Online || ledgers[i].Instance != h.view.Ledger.Instance {
			h.away = "it went away while it was read"
		}
		h.view.Ledger = ledgers[i]
	}
	return nil
}

func (r *run) ledgers(ctx workflow.Context, hosts []*host) ([]contract.HostLedger, error) {
	all := make([]contract.HostLedger, 0, len(hosts))
	chunks := chunked(hosts, chunkHosts)
	answers := make([]contract.FleetLedgersOut, len(chunks))
	errs := make([]error, len(chunks))
	parallel(ctx, len(chunks), func(ctx workflow.Context, i int) {
		var in contract.FleetLedgersIn
		for _, h := range chunks[i] {
			in.Hosts = append(in.Hosts, h.name)
		}
		ctx = workflow.WithActivityOptions(ctx, contract.FleetActivity())
		errs[i] = workflow.ExecuteActivity(ctx, contract.ActivityFleetLedgers, in).Get(ctx, &answers[i])
	})
	for i := range chunks {
		if errs[i] != nil {
			return nil, fmt.Errorf("what the fleet wants could not be read whole, so nothing was removed: %w", contract.FromActivityError(errs[i]))
		}
		all = append(all, answers[i].Hosts...)
	}
	return all, nil
}

// readWants reads what the fleet wants of every workload that a host has to do with. All of it, or nothing is removed.
func (r *run) readWants(ctx workflow.Context) (map[string]contract.Want, error) {
	names := map[string]bool{}
	for _, h := range r.readable() {
		for _, t := range h.view.Things {
			if t.Workload != "" {
				names[t.Workload] = true
			}
		}
		for _, e := range h.view.Ledger.Reservations {
			names[e.Workload] = true
		}
	}
	chunks := chunked(sortedKeys(names), chunkWants)
	answers := make([]contract.FleetWantsOut, len(chunks))
	errs := make([]error, len(chunks))
	parallel(ctx, len(chunks), func(ctx workflow.Context, i int) {
		ctx = workflow.WithActivityOptions(ctx, contract.FleetActivity())
		errs[i] = workflow.ExecuteActivity(ctx, contract.ActivityFleetWants, contract.FleetWantsIn{Workloads: chunks[i]}).Get(ctx, &answers[i])
	})
	wants := make(map[string]contract.Want, len(names))
	for i := range chunks {
		if errs[i] != nil {
			return nil, fmt.Errorf("what the fleet wants could not be read whole, so nothing was removed: %w", contract.FromActivityError(errs[i]))
		}
		for _, w := range answers[i].Workloads {
			wants[w.Workload] = w
		}
	}
	return wants, nil
}

// parallel does n things, several at once, and returns when all are done.
func parallel(ctx workflow.Context, n int, do func(ctx workflow.Context, i int)) {
	next, running := 0, 0
	for range min(atOnce, n) {
		running++
		workflow.Go(ctx, func(ctx workflow.Context) {
			for next < n {
				i := next
				next++
				do(ctx, i)
			}
			running--
		})
	}
	// The workers end when what they wait for does, also after a cancel.
	done, _ := workflow.NewDisconnectedContext(ctx)
	_ = workflow.Await(done, func() bool { return running == 0 })
}

func chunked[T any](all []T, size int) [][]T {
	var chunks [][]T
	for len(all) > size {
		chunks = append(chunks, all[:size])
		all = all[size:]
	}
	if len(all) > 0 {
		chunks = append(chunks, all)
	}
	return chunks
}
