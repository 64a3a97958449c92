package rest

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// admission bounds how many changes are worked on at once. A queue takes up a burst, and serves it in turn; beyond it, or
// when the server stops, the caller is told to come again instead of waiting for ever.
type admission struct {
	slots   chan struct{}
	queue   chan struct{}
	wait    time.Duration
	closing <-chan struct{}
}

func newAdmission(slots, queue int, wait time.Duration, closing <-chan struct{}) *admission {
	return &admission{slots: make(chan struct{}, slots), queue: make(chan struct{}, queue), wait: wait, closing: closing}
}

// enter takes a slot, waiting in the queue if there is room in it. The caller calls leave if err is nil.
func (a *admission) enter(ctx context.Context) error {
	select {
	case a.slots <- struct{}{}:
		return nil
	default:
	}
	select {
	case a.queue <- struct{}{}:
		defer func() { <-a.queue }()
	default:
		return errBusy
	}
	timer := time.NewTimer(a.wait)
	defer timer.Stop()
	select {
	case a.slots <- struct{}{}:
		return nil
	case <-timer.C:
		return errBusy
	case <-a.closing:
		return errBusy
	case <-ctx.Done():
		return errBusy
	}
}

func (a *admission) leave() { <-a.slots }

var errBusy = func() error {
	e := contract.Retryable(v1.ReasonTooManyRequests, "try again after the time in Retry-After, with the same Idempotency-Key",
		"more changes came at once than the control plane takes")
	e.After = time.Second
	return e
}()

// admit holds a change until there is a slot for it. What only reads passes.
func (s *server) admit(r route) gin.HandlerFunc {
	return func(c *gin.Context) {
		if r.scope < ScopeWrite {
			return
		}
		if err := s.admission.enter(c.Request.Context()); err != nil {
			writeProblem(c, err)
			return
		}
		defer s.admission.leave()
		c.Next()
	}
}
