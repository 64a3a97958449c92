package supervise

import (
	"context"
	"sync"
	"time"
)

// patience is how long one of a queue's workers waits for what it does. What takes longer goes on without it.
const patience = time.Second

// queue holds the workloads for which something is to be done: each at most once, and none by two workers at the same time.
type queue struct {
	mu      sync.Mutex
	pending map[string]bool
	order   []string
	busy    map[string]bool
	later   map[string]delayed
	stopped bool
	wake    chan struct{}
}

// delayed is an entry that is still to come.
type delayed struct {
	at    time.Time
	timer *time.Timer
}

func newQueue() *queue {
	return &queue{pending: map[string]bool{}, busy: map[string]bool{}, later: map[string]delayed{}, wake: make(chan struct{}, workers)}
}

func (q *queue) add(name string) {
	q.mu.Lock()
	if !q.pending[name] {
		q.pending[name] = true
		q.order = append(q.order, name)
	}
	q.mu.Unlock()
	q.notify()
}

// addLater adds a workload after a while: of several times the earliest counts.
func (q *queue) addLater(name string, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := time.Now().Add(d)
	if l, has := q.later[name]; has {
		if !at.Before(l.at) {
			return
		}
		l.timer.Stop()
	}
	if q.stopped {
		return
	}
	q.later[name] = delayed{at: at, timer: time.AfterFunc(d, func() {
		q.mu.Lock()
		if q.later[name].at.Equal(at) {
			delete(q.later, name)
		}
		q.mu.Unlock()
		q.add(name)
	})}
}

// serve does what the queue asks for, some at a time, until ctx ends. What takes long, because a runtime hangs or nobody can be
// told, keeps no others waiting: it goes on by itself, also past the end of ctx.
func (q *queue) serve(ctx context.Context, do func(ctx context.Context, name string)) {
	var serving sync.WaitGroup
	for range workers {
		serving.Go(func() {
			for {
				name, ok := q.next(ctx)
				if !ok {
					return
				}
				q.one(name, func() { do(ctx, name) })
			}
		})
	}
	serving.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	for _, l := range q.later {
		l.timer.Stop()
	}
}

func (q *queue) one(name string, do func()) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer q.done(name)
		do()
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-over:
	case <-timer.C:
	}
}

// next waits for a workload that nobody is busy with; it reports false when ctx ends.
func (q *queue) next(ctx context.Context) (string, bool) {
	for ctx.Err() == nil {
		if name, ok := q.take(); ok {
			return name, true
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
		}
	}
	return "", false
}

func (q *queue) take() (string, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, name := range q.order {
		if q.busy[name] {
			continue
		}
		q.order = append(q.order[:i], q.order[i+1:]...)
		delete(q.pending, name)
		q.busy[name] = true
		return name, true
	}
	return "", false
}

func (q *queue) done(name string) {
	q.mu.Lock()
	delete(q.busy, name)
	more := len(q.order) > 0
	q.mu.Unlock()
	if more {
		q.notify()
	}
}

func (q *queue) notify() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
