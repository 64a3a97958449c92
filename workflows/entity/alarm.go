package entity

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// shortestRun is the least time between two runs of one workflow that the server allows without delaying the later one.
const shortestRun = time.Second

// Versions of the loop, for histories that older ones have written.
const (
	changeLoop = "entity-loop"
	// oneAlarm is the first that has one timer at most, and continues no run as new that is younger than shortestRun.
	oneAlarm = 1
)

// alarm is the timer of a loop, if one is set.
type alarm struct {
	due    time.Time
	cancel workflow.CancelFunc
}

// version is asked only where versions differ: to record it costs events in every run.
func (l *Loop) version() workflow.Version {
	return workflow.GetVersion(l.Ctx, changeLoop, workflow.DefaultVersion, oneAlarm)
}

// wakeAt makes the loop look again at some time at the latest. A timer that is due before is left as it is: to look once in
// vain costs less than a timer for every message.
func (l *Loop) wakeAt(due time.Time) {
	if l.alarm.cancel != nil {
		if !due.Before(l.alarm.due) {
			return
		}
		l.alarm.cancel()
	}
	ctx, cancel := workflow.WithCancel(l.Ctx)
	l.alarm = alarm{due: due, cancel: cancel}
	timer := workflow.NewTimer(ctx, due.Sub(workflow.Now(ctx)))
	workflow.Go(ctx, func(ctx workflow.Context) {
		if timer.Get(ctx, nil) != nil {
			return // an earlier one took its place
		}
		l.alarm = alarm{}
		l.Wake()
	})
}
