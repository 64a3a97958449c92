package sweep

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// chunkDiscards bounds how many orphans one activity removes: each may take as long as a guest takes to power off.
	chunkDiscards = 10
	chunkRepairs  = 200
)

// discard removes the orphans, if that is asked, several hosts at once. What fails does not keep the rest from going on.
func (r *run) discard(ctx workflow.Context) {
	var hosts []*host
	for _, h := range r.readable() {
		if h.judgement.TooMany() && !r.request.AllowMany {
			h.message = fmt.Sprintf("%d of %d things would go, which is more than %d %%", h.judgement.Counted(), h.judgement.Total, v1.SweepShare)
			if r.request.Delete {
				r.fail("nothing was removed on host %s: %s", h.name, h.message)
			}
			continue
		}
		if r.request.Delete && len(h.judgement.Discards()) > 0 {
			hosts = append(hosts, h)
		}
	}
	failed := 0
	late := false
	parallel(ctx, len(hosts), func(ctx workflow.Context, i int) {
		for _, batch := range chunked(hosts[i].judgement.Discards(), chunkDiscards) {
			if workflow.Now(ctx).After(r.deadline) {
				late = true
				return
			}
			failed += hosts[i].discard(ctx, batch)
		}
		hosts[i].judgement.keepFindings()
	})
	if failed > 0 {
		r.fail("%d removals failed", failed)
	}
	if late {
		r.fail("time was over before all orphans were removed")
	}
}

// discard removes some orphans, and returns how many it could not remove.
func (h *host) discard(ctx workflow.Context, batch []*Finding) (failed int) {
	queue := contract.HostControlQueue(h.name, h.view.Ledger.Instance)
	ctx = workflow.WithActivityOptions(ctx, contract.SweepActivity(queue))
	var in contract.DiscardIn
	for _, f := range batch {
		in.Orphans = append(in.Orphans, *f.Discard)
	}
	var out contract.DiscardOut
	err := workflow.ExecuteActivity(ctx, contract.ActivityDiscard, in).Get(ctx, &out)
	for i, f := range batch {
		switch {
		case err != nil:
			f.Verdict, f.Message = v1.VerdictFailed, "the host gave no answer: "+contract.FromActivityError(err).Message
			failed++
		case out.Fates[i].Failed != "":
			f.Verdict, f.Message = v1.VerdictFailed, out.Fates[i].Failed
			failed++
		case out.Fates[i].Kept != "":
			f.kept = true
		default:
			f.Verdict = v1.VerdictDeleted
		}
	}
	return failed
}

// keepFindings counts as live what turned out to belong to somebody after all.
func (j *Judgement) keepFindings() {
	var rest []Finding
	for _, f := range j.Findings {
		if f.kept {
			j.Live++
			continue
		}
		rest = append(rest, f)
	}
	j.Findings = rest
}

// repair tells workloads what is absent, and gives back what is reserved for nobody.
func (r *run) repair(ctx workflow.Context) {
	var all []*Finding
	for _, h := range r.readable() {
		for i := range h.judgement.Findings {
			if f := &h.judgement.Findings[i]; f.Repair != nil {
				all = append(all, f)
			}
		}
	}
	chunks := chunked(all, chunkRepairs)
	failed := 0
	parallel(ctx, len(chunks), func(ctx workflow.Context, i int) {
		var in contract.FleetRepairIn
		for _, f := range chunks[i] {
			in.Repairs = append(in.Repairs, *f.Repair)
		}
		var out contract.FleetRepairOut
		ctx = workflow.WithActivityOptions(ctx, contract.FleetActivity())
		err := workflow.ExecuteActivity(ctx, contract.ActivityFleetRepair, in).Get(ctx, &out)
		for k, f := range chunks[i] {
			switch {
			case err != nil:
				f.Verdict, f.Message = v1.VerdictFailed, contract.FromActivityError(err).Message
			case out.Failed[k] != "":
				f.Verdict, f.Message = v1.VerdictFailed, out.Failed[k]
			default:
				f.Verdict = v1.VerdictRepaired
				continue
			}
			failed++
		}
	})
	if failed > 0 {
		r.fail("%d repairs failed", failed)
	}
}
