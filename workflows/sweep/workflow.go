package sweep

import (
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Sweep looks at everything that the fleet's hosts hold, once. It first reads the hosts, then what the fleet wants, so that
// whatever was made meanwhile is known to be wanted. A run that did not do all that it was asked fails at its end, with the
// whole report in its failure.
func Sweep(ctx workflow.Context, in contract.SweepInput) (v1.Sweep, error) {
	in.Request.Default()
	r := &run{
		request: in.Request, deadline: workflow.Now(ctx).Add(contract.SweepLimit * 4 / 5),
		report: v1.Sweep{
			ID: workflow.GetInfo(ctx).WorkflowExecution.RunID, State: v1.SweepRunning, Request: in.Request, StartedAt: workflow.Now(ctx),
		},
	}
	err := workflow.SetQueryHandler(ctx, contract.QuerySweep, func(p contract.SweepPage) (v1.Sweep, error) { return r.page(p), nil })
	if err != nil {
		return v1.Sweep{}, err
	}
	if err := r.show(ctx); err != nil {
		return v1.Sweep{}, err
	}
	if err := r.sweep(ctx); err != nil {
		if temporal.IsCanceledError(err) {
			return v1.Sweep{}, err
		}
		r.fail("%v", err)
	}
	now := workflow.Now(ctx)
	r.report.EndedAt, r.report.State = &now, v1.SweepSucceeded
	if len(r.failures) > 0 {
		r.report.State, r.report.Message = v1.SweepFailed, r.why()
	}
	if err := r.show(ctx); err != nil {
		return v1.Sweep{}, err
	}
	whole := r.page(contract.SweepPage{Limit: v1.SweepThings})
	if r.report.State == v1.SweepFailed {
		return v1.Sweep{}, temporal.NewApplicationErrorWithOptions(
			fmt.Sprintf("%s; %s", whole.Message, whole.Summary), contract.SweepFailedType,
			temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{whole}})
	}
	return whole, nil
}

// ScheduledSweep is what the schedule starts. It runs a sweep as its child; one that is running already, whoever started
// it, is left to run.
func ScheduledSweep(ctx workflow.Context, in contract.SweepInput) (contract.ScheduledSweepOut, error) {
	ctx = workflow.WithChildOptions(ctx, contract.SweepChild())
	var out contract.ScheduledSweepOut
	err := workflow.ExecuteChildWorkflow(ctx, contract.WorkflowSweep, in).Get(ctx, &out.Sweep)
	var running *temporal.ChildWorkflowExecutionAlreadyStartedError
	if errors.As(err, &running) {
		return contract.ScheduledSweepOut{Skipped: true}, nil
	}
	return out, err
}

// sweep does all that is asked. What it returns keeps everything from being removed; what goes wrong later is noted.
func (r *run) sweep(ctx workflow.Context) error {
	if err := r.findHosts(ctx); err != nil {
		return err
	}
	r.readHosts(ctx)
	if err := r.readLedgers(ctx); err != nil {
		return err
	}
	wants, err := r.readWants(ctx)
	if err != nil {
		return err
	}
	for _, h := range r.readable() {
		h.judgement = Compare(h.view, wants, r.request.Grace.D())
	}
	if err := r.checkMemory(ctx); err != nil {
		return err
	}
	if err := r.show(ctx); err != nil {
		return err
	}
	r.discard(ctx)
	r.repair(ctx)
	return nil
}

// changeAhead marks runs that know of hosts which have seen more than the fleet remembers.
const changeAhead = "hosts-ahead"

// checkMemory fails if what the fleet wants is not known as a whole. Nothing is removed then. Workloads of which a host has seen
// more than they know are still told.
func (r *run) checkMemory(ctx workflow.Context) error {
	var forgotten, ahead []string
	for _, h := range r.readable() {
		for _, thing := range h.judgement.Forgotten {
			forgotten = append(forgotten, thing+" on "+h.name)
		}
		for _, workload := range h.judgement.Ahead {
			ahead = append(ahead, workload+" on "+h.name)
		}
	}
	if len(ahead) > 0 && workflow.GetVersion(ctx, changeAhead, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		ahead = nil
	}
	if len(forgotten)+len(ahead) == 0 {
		return nil
	}
	r.withhold(len(ahead) > 0)
	r.repair(ctx)
	var found []string
	if len(forgotten) > 0 {
		found = append(found, fmt.Sprintf("the fleet knows nothing of things that are older than its memory (%s)", some(forgotten)))
	}
	if len(ahead) > 0 {
		found = append(found, fmt.Sprintf("hosts have seen later actions than the fleet remembers (%s)", some(ahead)))
	}
	return fmt.Errorf("%s: is this the right Temporal namespace, with its database, and not one of an earlier day? nothing was removed",
		strings.Join(found, ", and "))
}

// some are the first few of many.
func some(names []string) string {
	const few = 5
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}
