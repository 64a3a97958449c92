package workload

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/entity"
)

// verbs are what a user may ask for, by update or by signal.
var verbs = []v1.Verb{v1.VerbStart, v1.VerbRestart, v1.VerbRetry, v1.VerbStop, v1.VerbRemove}

func (e *workloadEntity) handleMessages() error {
	err := entity.Update(e.Loop, contract.UpdateApply,
		func(_ workflow.Context, req contract.ApplyRequest) (contract.Accepted, error) {
			a, err := e.s.Apply(req, workflow.Now(e.Ctx))
			return a, contract.AsActivityError(err)
		})
	if err != nil {
		return err
	}
	for _, verb := range verbs {
		err := entity.Update(e.Loop, string(verb),
			func(_ workflow.Context, req contract.VerbRequest) (contract.Accepted, error) {
				a, err := e.s.Ask(verb, req)
				if err == nil && verb == v1.VerbRemove {
					a.Kept = e.s.Kept()
				}
				return a, contract.AsActivityError(err)
			})
		if err != nil {
			return err
		}
		entity.RawSignal(e.Loop, string(verb), func(raw converter.RawValue) { e.askBySignal(verb, raw) })
	}
	entity.Signal(e.Loop, contract.SignalObserve, func(o contract.Observation) { e.s.Observe(o, workflow.Now(e.Ctx)) })
	entity.Signal(e.Loop, contract.SignalLate, func(l contract.LateStep) { e.s.CameLate(l, workflow.Now(e.Ctx)) })
	entity.Signal(e.Loop, contract.SignalHostLost, func(n contract.HostStatus) { e.s.HostLostOrBack(n, true, workflow.Now(e.Ctx)) })
	entity.Signal(e.Loop, contract.SignalHostBack, func(n contract.HostStatus) { e.s.HostLostOrBack(n, false, workflow.Now(e.Ctx)) })
	entity.Signal(e.Loop, contract.SignalDrain, e.s.HostDrain)
	entity.RawSignal(e.Loop, contract.SignalWake, func(converter.RawValue) { e.s.Woken() })
	err = workflow.SetQueryHandler(e.Ctx, contract.QueryActions, func() ([]v1.Action, error) { return e.s.PastActions(), nil })
	if err != nil {
		return err
	}
	return workflow.SetQueryHandler(e.Ctx, contract.QueryWorkloadFull, func() (contract.WorkloadFull, error) {
		full := contract.WorkloadFull{Workload: e.s.Workload, Status: e.shown, Timings: e.s.Timings}
		if e.s.Job != nil {
			full.Attempts = e.s.Job.Attempts
		}
		return full, nil
	})
}

// askBySignal takes a verb as `temporal workflow signal` sends it: with no argument, or a plain JSON one. What can't be
// taken becomes a condition, because a signal has no answer.
func (e *workloadEntity) askBySignal(verb v1.Verb, raw converter.RawValue) {
	var req contract.VerbRequest
	if p := raw.Payload(); p != nil {
		if err := converter.GetDefaultDataConverter().FromPayload(p, &req); err != nil {
			e.s.AddCondition(v1.ReasonMalformedSignal,
				fmt.Sprintf("signal %s was ignored: its argument is neither empty nor a request object", verb), workflow.Now(e.Ctx))
			return
		}
	}
	if _, err := e.s.Ask(verb, req); err != nil {
		message, _, _ := strings.Cut(err.Error(), "\n")
		e.s.AddCondition(contract.ReasonOf(err), fmt.Sprintf("signal %s was refused: %s", verb, message), workflow.Now(e.Ctx))
	}
}
