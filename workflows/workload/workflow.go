package workload

import (
	"maps"
	"reflect"
	"slices"

	"go.temporal.io/sdk/workflow"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/entity"
)

// Input starts a run of Workload. It has the wire form of contract.WorkloadInput, and the state of the run before.
type Input struct {
	Apply   *contract.ApplyRequest `json:"apply,omitempty"`
	Timings contract.Timings       `json:"timings"`
	State   *State                 `json:"state,omitempty"`
}

// Workload is the entity of one workload. It closes when the workload is removed, or at once if it begins without a valid
// spec.
func Workload(ctx workflow.Context, in Input) error {
	s := in.State
	if s == nil {
		s = &State{Timings: in.Timings}
	}
	e := &workloadEntity{Loop: entity.New(ctx, s.Timings.ContinueAsNewAt), s: s}
	if err := e.handleMessages(); err != nil {
		return err
	}
	if in.Apply != nil {
		if _, err := s.Apply(*in.Apply, workflow.Now(ctx)); err != nil {
			workflow.GetLogger(ctx).Warn("closing: the first spec was refused", "error", err)
		}
	}
	if s.Generation == 0 {
		return nil
	}
	return e.run()
}

type workloadEntity struct {
	*entity.Loop
	s     *State
	shown v1.Status
	// cancelAction cancels the open action.
	cancelAction workflow.CancelFunc
	cancelNoted  bool
}

func (e *workloadEntity) run() error {
	for {
		now := workflow.Now(e.Ctx)
		if e.CancelRequested && !e.cancelNoted {
			e.cancelNoted = true
			e.s.AddCondition(v1.ReasonCancelIgnored, "a native cancel was ignored; use the remove signal or DELETE", now)
		}
		step := e.s.decide(now)
		switch step.Kind {
		case StepNote:
			e.tell(e.s.Note(step))
			continue
		case StepAct:
			e.s.Begin(step, now)
			e.startAction()
		case StepCancel:
			if step.Away && workflow.GetVersion(e.Ctx, changeDrainAway, workflow.DefaultVersion, 1) != 1 {
				e.s.Doing.Stays = true
				continue
			}
			e.s.Doing.Cancelled = true
			e.cancelAction()
			continue
		case StepGiveUp:
			e.giveUp()
			continue
		case StepAcknowledge:
			e.acknowledge()
			continue
		case StepAdopt:
			e.adopt()
			continue
		case StepEvict:
			e.evict(step)
			continue
		case StepWaitAnew:
			e.s.WaitAnew(now)
			continue
		case StepGrace:
			e.s.BeginGrace(now)
			continue
		case StepClose:
			e.leaveQueue()
			if err := e.publish(); err != nil {
				return err
			}
			return e.Sent()
		case StepWait:
		}
		e.leaveQueue()
		e.answerDrain()
		if err := e.publish(); err != nil {
			return err
		}
		if step.Kind == StepAct {
			step = e.s.decide(now) // how long the action may take
		}
		if !e.s.Busy() && e.ShouldContinueAsNew() {
			return workflow.NewContinueAsNewError(e.Ctx, contract.WorkflowWorkload, Input{Timings: e.s.Timings, State: e.s})
		}
		if err := e.Wait(step.Until); err != nil {
			return err
		}
	}
}

// startAction carries the open action out beside the loop, which goes on taking messages.
func (e *workloadEntity) startAction() {
	actx, cancel := workflow.WithCancel(e.Ctx)
	e.cancelAction = cancel
	d := *e.s.Doing
	workflow.Go(actx, func(actx workflow.Context) {
		out, err := e.carryOut(actx, d)
		now := workflow.Now(e.Ctx)
		if err != nil {
			e.tell(e.s.Failed(contract.FromActivityError(err), now))
		} else {
			e.tell(e.s.Succeeded(out, now))
		}
		cancel()
		e.Wake()
	})
}

// publish shows the status in the memo and in the search attributes, if it changed.
func (e *workloadEntity) publish() error {
	st := e.s.Status(workflow.Now(e.Ctx))
	if reflect.DeepEqual(st, e.shown) {
		return nil
	}
	meta := contract.WorkloadMeta{Kind: e.s.Workload.Kind, Labels: e.s.Workload.Metadata.Labels}
	err := workflow.UpsertMemo(e.Ctx, map[string]any{contract.MemoStatus: st, contract.MemoMeta: meta})
	if err != nil {
		return err
	}
	if st.Phase != e.shown.Phase || st.Reason != e.shown.Reason || st.Host != e.shown.Host || st.Generation != e.shown.Generation {
		err = workflow.UpsertTypedSearchAttributes(e.Ctx,
			contract.AttrWorkload.ValueSet(e.s.Name), contract.AttrKind.ValueSet(string(e.s.Workload.Kind)),
			contract.AttrPhase.ValueSet(string(st.Phase)), contract.AttrReason.ValueSet(string(st.Reason)),
			contract.AttrHost.ValueSet(st.Host), contract.AttrLabels.ValueSet(labelTerms(e.s.Workload.Metadata.Labels)), contract.AttrGeneration.ValueSet(st.Generation),
		)
	}
	e.shown = st
	return err
}

// labelTerms are the labels as lists are filtered by them, in order.
//
//workflowcheck:ignore
func labelTerms(labels map[string]string) []string {
	terms := make([]string, 0, len(labels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		terms = append(terms, contract.LabelTerm(key, labels[key]))
	}
	return terms
}
