package host

import (
	"reflect"
	"time"

	"go.temporal.io/sdk/workflow"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/entity"
)

// changeForgetClean is since when a machine that takes a forgotten one's name does not inherit its cordon.
const changeForgetClean = "forget-clean"

// changeLateLive is since when a lease is not taken for live after its end.
const changeLateLive = "late-live"

// Input starts a run of Host. It has the wire form of contract.HostInput.
type Input struct {
	Timings contract.Timings `json:"timings"`
	State   *State           `json:"state,omitempty"`
}

// Host is the entity of one machine: admission, the capacity ledger, debts.
func Host(ctx workflow.Context, in Input) error {
	s := in.State
	if s == nil {
		s = &State{Timings: in.Timings, Phase: v1.HostJoining, Since: workflow.Now(ctx)}
	}
	loop := entity.New(ctx, s.Timings.ContinueAsNewAt)
	if err := handle(loop, s); err != nil {
		return err
	}
	var shown v1.Host
	for {
		now := workflow.Now(loop.Ctx)
		s.Expire(now)
		s.advanceDrain(now)
		tellOthers(loop, s)
		if err := publish(loop.Ctx, s, &shown); err != nil {
			return err
		}
		if loop.ShouldContinueAsNew() {
			return workflow.NewContinueAsNewError(loop.Ctx, contract.WorkflowHost, Input{Timings: s.Timings, State: s})
		}
		if err := loop.Wait(s.Ledger.NextExpiry()); err != nil {
			return err
		}
	}
}

func handle(loop *entity.Loop, s *State) error {
	now := func() time.Time { return workflow.Now(loop.Ctx) }
	err := entity.Update(loop, contract.UpdateHello, func(ctx workflow.Context, h contract.Hello) (contract.Welcome, error) {
		welcome, admitted := s.Hello(h, now())
		if !admitted {
			return welcome, nil
		}
		in := contract.LeaseInput{Host: s.Name, Instance: s.Instance, LeaseNo: s.LeaseNo, Timings: s.Timings}
		ctx = workflow.WithActivityOptions(ctx, contract.ControlActivity())
		err := workflow.ExecuteActivity(ctx, contract.ActivityGrantLease, in).Get(ctx, nil)
		return welcome, err
	})
	if err != nil {
		return err
	}
	err = entity.Update(loop, contract.UpdateReserve, func(_ workflow.Context, r contract.ReserveRequest) (contract.ReserveReply, error) {
		return s.Reserve(r, now()), nil
	})
	if err != nil {
		return err
	}
	err = entity.Update(loop, contract.UpdateBind, func(_ workflow.Context, r contract.BindRequest) (struct{}, error) {
		return struct{}{}, contract.AsActivityError(s.Bind(r, now()))
	})
	if err != nil {
		return err
	}
	check := func(c contract.HostChange) error { return contract.AsActivityError(s.checkChange(c)) }
	err = entity.CheckedUpdate(loop, contract.UpdateChangeHost, check, func(_ workflow.Context, c contract.HostChange) (v1.Host, error) {
		s.Change(c, now())
		return s.View(), nil
	})
	if err != nil {
		return err
	}
	if err := handleAway(loop, s); err != nil {
		return err
	}
	entity.Signal(loop, contract.SignalLeaseLive, func(l contract.LeaseLive) {
		if s.late(l) && workflow.GetVersion(loop.Ctx, changeLateLive, workflow.DefaultVersion, 1) == 1 {
			return
		}
		s.Live(l, now())
	})
	entity.Signal(loop, contract.SignalLeaseEnded, func(l contract.LeaseEnded) { s.Ended(l, now()) })
	entity.Signal(loop, contract.SignalCapability, func(c contract.Capability) { s.Capability(c, now()) })
	entity.Signal(loop, contract.SignalSettle, func(r contract.SettleRequest) { s.Settle(r, now()) })
	entity.Signal(loop, contract.SignalRelease, func(r contract.ReleaseRequest) { s.Release(r, now()) })
	entity.Signal(loop, contract.SignalDrainStanding, func(d contract.DrainStanding) { s.DrainStanding(d) })
	err = workflow.SetQueryHandler(loop.Ctx, contract.QueryHostWould, func(r contract.ReserveRequest) (contract.ReserveReply, error) {
		return s.Would(r), nil
	})
	if err != nil {
		return err
	}
	return workflow.SetQueryHandler(loop.Ctx, contract.QueryHostFull, func() (State, error) { return *s, nil })
}

// handleAway takes what is said of a host that does not answer itself.
func handleAway(loop *entity.Loop, s *State) error {
	now := func() time.Time { return workflow.Now(loop.Ctx) }
	err := entity.Update(loop, contract.UpdateEvict, func(_ workflow.Context, r contract.EvictRequest) (contract.EvictReply, error) {
		return s.Evict(r, now()), nil
	})
	if err != nil {
		return err
	}
	forgettable := func(struct{}) error { return contract.AsActivityError(s.checkForget()) }
	err = entity.CheckedUpdate(loop, contract.UpdateForget, forgettable, func(ctx workflow.Context, _ struct{}) (v1.Host, error) {
		err := s.Forget(now(), workflow.GetVersion(ctx, changeForgetClean, workflow.DefaultVersion, 1) == 1)
		return s.View(), contract.AsActivityError(err)
	})
	if err != nil {
		return err
	}
	entity.Signal(loop, contract.SignalDebtsPaid, func(p contract.DebtsPaid) { s.Paid(p, now()) })
	adoptable := func(struct{}) error { return contract.AsActivityError(s.checkAdopt()) }
	return entity.CheckedUpdate(loop, contract.UpdateAdopt, adoptable, func(workflow.Context, struct{}) (v1.Host, error) {
		s.Adopt(now())
		return s.View(), nil
	})
}

// tellOthers sends what the messages of this task left in the outbox.
func tellOthers(loop *entity.Loop, s *State) {
	for _, n := range s.outbox {
		if n.gone == nil {
			loop.Send(n.to, n.signal, n.arg)
			continue
		}
		loop.Send(n.to, n.signal, n.arg, n.gone)
	}
	s.outbox = nil
}

func publish(ctx workflow.Context, s *State, shown *v1.Host) error {
	view := s.View()
	if s.Name == "" || reflect.DeepEqual(view, *shown) {
		return nil
	}
	if err := workflow.UpsertMemo(ctx, map[string]any{contract.MemoStatus: view}); err != nil {
		return err
	}
	if view.State != shown.State || view.Name != shown.Name {
		err := workflow.UpsertTypedSearchAttributes(ctx,
			contract.AttrHost.ValueSet(view.Name), contract.AttrHostState.ValueSet(string(view.State)))
		if err != nil {
			return err
		}
	}
	*shown = view
	return nil
}
