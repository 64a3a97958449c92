package queue

import (
	"go.temporal.io/sdk/workflow"

	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/entity"
)

// Input starts a run of Queue. It has the wire form of contract.QueueInput.
type Input struct {
	ContinueAsNewAt int    `json:"continueAsNewAt"`
	State           *State `json:"state,omitempty"`
}

// changeRefusals is the change since which a refusal speaks for all who need no less, and, from version 2 on, only of the room
// that it was woken for: a host that said since then that it has room may have what was short.
const changeRefusals = "queue-refusals"

// changeBehind is the change since which a room is offered anew when those leave for whom others were kept from it.
const changeBehind = "queue-behind"

// Queue wakes those who wait for room, one at a time. It ends when nobody waits; the next one starts it again.
func Queue(ctx workflow.Context, in Input) error {
	s := in.State
	if s == nil {
		s = &State{ContinueAsNewAt: in.ContinueAsNewAt}
	}
	loop := entity.New(ctx, s.ContinueAsNewAt)
	entity.Signal(loop, contract.SignalEnqueue, func(w contract.Waiter) {
		if s.Answers(w.Workload) {
			version := workflow.GetVersion(loop.Ctx, changeRefusals, workflow.DefaultVersion, 2)
			if version == 1 || version == 2 && s.Offered(w.Workload) {
				s.Refused(w)
			}
		}
		s.Enqueue(w)
	})
	entity.Signal(loop, contract.SignalLeave, s.Leave)
	entity.Signal(loop, contract.SignalRoom, s.Offer)
	err := entity.Update(loop, contract.UpdateAhead, func(ctx workflow.Context, a contract.AskAhead) (contract.Ahead, error) {
		ahead := s.Ahead(a.Host, a.Newcomer)
		if len(ahead) > 0 && workflow.GetVersion(ctx, changeBehind, workflow.DefaultVersion, 1) == 1 {
			s.Keep(a.Host, ahead)
		}
		return contract.Ahead{Waiters: ahead}, nil
	})
	if err != nil {
		return err
	}
	if err := workflow.SetQueryHandler(loop.Ctx, contract.QueryQueue, func() (State, error) { return *s, nil }); err != nil {
		return err
	}
	for {
		if err := loop.Wait(s.Deadline()); err != nil {
			return err
		}
		if w := s.Next(workflow.Now(loop.Ctx)); w != nil {
			workload := w.Workload
			loop.Send(contract.WorkloadID(workload), contract.SignalWake, struct{}{}, func() { s.Gone(workload) })
		}
		switch {
		case len(s.Waiting) == 0 && loop.Quiet():
			return nil
		case loop.ShouldContinueAsNew():
			return workflow.NewContinueAsNewError(loop.Ctx, contract.WorkflowQueue, Input{State: s, ContinueAsNewAt: s.ContinueAsNewAt})
		}
	}
}
