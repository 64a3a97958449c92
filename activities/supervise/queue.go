package supervise

import (
	"context"
	"sync"
	"time"
)

// queue holds the workloads to look at: each at most once, and none by two lookers at the same time.
type queue struct {
	mu      sync.Mutex
	pending map[string]bool
	order   []string
	busy    map[string]bool
	wake    chan struct{}
}

func newQueue() *queue {
	return &queue{pending: map[string]bool{}, busy: map[string]bool{}, wake: make(chan struct{}, lookers)}
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

func (q *queue) addLater(ctx context.Context, name string, d time.Duration) {
	t := time.AfterFunc(d, func() { q.add(name) })
	context.AfterFunc(ctx, func() { t.Stop() })
}

// next waits for a workload that nobody is looking at; it reports false when ctx ends.
func (q *queue) next(ctx context.Context) (string, bool) {
	for {
		if name, ok := q.take(); ok {
			return name, true
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return "", false
		}
	}
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
