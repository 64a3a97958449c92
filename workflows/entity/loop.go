// Package entity is the shape that long-lived workflows share: messages change a state, one loop acts on it, and the run
// continues as new before its history grows long.
package entity

import (
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

// Loop is one run of an entity.
type Loop struct {
	// Ctx is disconnected from native cancels: an entity ends only by its own rules.
	Ctx workflow.Context
	// CancelRequested is true once somebody cancelled the workflow natively.
	CancelRequested bool

	limit   int
	changed bool
	signals []signal
	sending int
	alarm   alarm
}

type signal struct {
	channel workflow.ReceiveChannel
	handle  func(raw converter.RawValue)
}

// New returns the loop of a run that continues as new after some limit of history events.
func New(ctx workflow.Context, limit int) *Loop {
	own, _ := workflow.NewDisconnectedContext(ctx)
	l := &Loop{Ctx: own, limit: limit, changed: true}
	workflow.Go(own, func(own workflow.Context) {
		ctx.Done().Receive(own, nil)
		l.CancelRequested = true
		l.Wake()
	})
	return l
}

// Wake makes the loop look at its state again.
func (l *Loop) Wake() { l.changed = true }

// Send signals another workflow of Berth's. One that is gone needs no telling; who wants to know of it passes gone.
//
// The server forgets a signal that has not been delivered when the run that sent it closes or continues as new: that waits
// until all are; see Sent.
func (l *Loop) Send(workflowID, signal string, arg any, gone ...func()) {
	delivered := workflow.SignalExternalWorkflow(l.Ctx, workflowID, "", signal, arg)
	l.sending++
	workflow.Go(l.Ctx, func(ctx workflow.Context) {
		if err := delivered.Get(ctx, nil); err != nil {
			workflow.GetLogger(ctx).Info("signal not delivered", "to", workflowID, "signal", signal, "error", err)
			for _, f := range gone {
				f()
			}
		}
		l.sending--
		l.Wake()
	})
}

// Sent waits until everything that was sent has been delivered.
func (l *Loop) Sent() error {
	return workflow.Await(l.Ctx, func() bool { return l.sending == 0 })
}

// Update registers an update. The state may have changed when the handler returns, so the loop looks again.
func Update[In, Out any](l *Loop, name string, handle func(workflow.Context, In) (Out, error)) error {
	return updateWith(l, name, workflow.UpdateHandlerOptions{}, handle)
}

// CheckedUpdate is an Update that is refused, and leaves no trace in the history, if check says so. The check only reads, and
// does not happen again in a replay.
func CheckedUpdate[In, Out any](l *Loop, name string, check func(In) error, handle func(workflow.Context, In) (Out, error)) error {
	return updateWith(l, name, workflow.UpdateHandlerOptions{Validator: check}, handle)
}

func updateWith[In, Out any](
	l *Loop, name string, options workflow.UpdateHandlerOptions, handle func(workflow.Context, In) (Out, error),
) error {
	return workflow.SetUpdateHandlerWithOptions(l.Ctx, name, func(ctx workflow.Context, in In) (Out, error) {
		defer l.Wake()
		return handle(ctx, in)
	}, options)
}

// Signal registers a signal whose sender is Berth itself. One that can't be decoded is dropped: a newer version's message.
func Signal[In any](l *Loop, name string, handle func(In)) {
	RawSignal(l, name, func(raw converter.RawValue) {
		var in In
		if raw.Payload() == nil || converter.GetDefaultDataConverter().FromPayload(raw.Payload(), &in) != nil {
			workflow.GetLogger(l.Ctx).Warn("signal dropped: it can't be decoded", "signal", name)
			return
		}
		handle(in)
	})
}

// RawSignal registers a signal that anybody may send: the handler gets the payload as it came, or none.
func RawSignal(l *Loop, name string, handle func(raw converter.RawValue)) {
	l.signals = append(l.signals, signal{channel: workflow.GetSignalChannel(l.Ctx, name), handle: handle})
}

// Wait returns when a message came or the deadline passed, and at times before that; a zero deadline never passes. Pending
// signals have been handled.
func (l *Loop) Wait(deadline time.Time) error {
	if err := l.sleep(deadline); err != nil {
		return err
	}
	l.changed = false
	l.drain()
	return nil
}

func (l *Loop) sleep(deadline time.Time) error {
	ready := func() bool { return l.changed || l.signalPending() }
	if deadline.IsZero() {
		return workflow.Await(l.Ctx, ready)
	}
	wait := deadline.Sub(workflow.Now(l.Ctx))
	switch {
	case wait <= 0:
		return nil
	case l.version() < oneAlarm:
		_, err := workflow.AwaitWithTimeout(l.Ctx, wait, ready)
		return err
	default:
		l.wakeAt(deadline)
		return workflow.Await(l.Ctx, ready)
	}
}

// ShouldContinueAsNew reports whether the history is long enough and nothing is half done: every update has been answered,
// every signal handled, and every sent one delivered.
func (l *Loop) ShouldContinueAsNew() bool {
	info := workflow.GetInfo(l.Ctx)
	if !info.GetContinueAsNewSuggested() && (info.GetCurrentHistoryLength() < l.limit || l.young(info)) {
		return false
	}
	return l.Quiet()
}

// young reports whether the run is so young that the server would delay the next one: a run that follows one of less than a
// second starts as much later as was missing, and these delays add up from run to run. An update is answered nevertheless; a
// signal would wait.
func (l *Loop) young(info *workflow.Info) bool {
	return workflow.Now(l.Ctx).Sub(info.WorkflowStartTime) < shortestRun && l.version() >= oneAlarm
}

// Quiet reports whether every message has been handled and everything sent was delivered, so that the run may end.
func (l *Loop) Quiet() bool {
	return workflow.AllHandlersFinished(l.Ctx) && !l.signalPending() && !l.changed && l.sending == 0
}

func (l *Loop) signalPending() bool {
	for _, s := range l.signals {
		if s.channel.Len() > 0 {
			return true
		}
	}
	return false
}

func (l *Loop) drain() {
	for _, s := range l.signals {
		for {
			var raw converter.RawValue
			if !s.channel.ReceiveAsync(&raw) {
				break
			}
			s.handle(raw)
		}
	}
}
