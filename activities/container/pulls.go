package container

import (
	"context"
	"errors"
	"sync"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const reportEvery = 250 * time.Millisecond

var (
	errStalled   = errors.New("the pull made no progress")
	errNoWaiters = errors.New("nobody waits for the pull any more")
)

// pulls shares the pulls of this host: workloads that want the same image at the same time wait for one pull, which ends
// with its last waiter.
type pulls struct {
	driver Driver
	stall  time.Duration
	slots  chan struct{}

	mu   sync.Mutex
	open map[string]*pull
}

type pull struct {
	waiters int // guarded by pulls.mu
	cancel  context.CancelCauseFunc
	done    chan struct{}
	err     error // set before done is closed

	mu       sync.Mutex
	progress v1.Progress
}

func newPulls(driver Driver, concurrent int, stall time.Duration) *pulls {
	return &pulls{driver: driver, stall: stall, slots: make(chan struct{}, concurrent), open: map[string]*pull{}}
}

// get pulls an image, or joins a pull of it that is under way, and reports how far it is.
func (p *pulls) get(ctx context.Context, ref string, report func(v1.Progress)) error {
	one := p.join(ctx, ref)
	defer p.leave(ref, one)
	ticker := time.NewTicker(reportEvery)
	defer ticker.Stop()
	for {
		report(one.last())
		select {
		case <-one.done:
			report(one.last())
			return one.err
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

func (p *pulls) join(ctx context.Context, ref string) *pull {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one, ok := p.open[ref]; ok {
		one.waiters++
		return one
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	one := &pull{waiters: 1, cancel: cancel, done: make(chan struct{})}
	p.open[ref] = one
	go func() {
		defer close(one.done)
		defer cancel(nil)
		one.err = p.run(ctx, ref, one)
		p.forget(ref, one)
	}()
	return one
}

func (p *pulls) leave(ref string, one *pull) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one.waiters--
	if one.waiters == 0 {
		one.cancel(errNoWaiters)
		if p.open[ref] == one {
			delete(p.open, ref) // who comes now starts anew, and does not join what is ending
		}
	}
}

func (p *pulls) forget(ref string, one *pull) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[ref] == one {
		delete(p.open, ref)
	}
}

func (p *pulls) run(ctx context.Context, ref string, one *pull) error {
	one.set("waiting to pull "+ref, 0, 0)
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	one.set("pulling "+ref, 0, 0)

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(p.stall, func() { cancel(errStalled) })
	defer stalled.Stop()
	err := p.driver.Pull(ctx, ref, func(done, total int64) {
		stalled.Reset(p.stall)
		one.set("pulling "+ref, done, total)
	})
	if err != nil && errors.Is(context.Cause(ctx), errStalled) {
		at := one.last()
		return contract.Retryable(v1.ReasonFetchStalled, "it is tried again by itself; check the host's way to the registry",
			"pulling %s made no progress for %s, after %d bytes", ref, p.stall, at.Done)
	}
	return err
}

func (one *pull) set(detail string, done, total int64) {
	one.mu.Lock()
	defer one.mu.Unlock()
	one.progress = progress(contract.StepPrepare, detail)
	one.progress.Done, one.progress.Total = done, total
}

func (one *pull) last() v1.Progress {
	one.mu.Lock()
	defer one.mu.Unlock()
	return one.progress
}
