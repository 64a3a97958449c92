package libvirt

import (
	"context"
	"errors"
	"time"
)

// reopenAfter is how long a libvirt that accepts no connection is not asked again, so that those who wait for one do not
// each wait for their own failure.
const reopenAfter = time.Second

// lane is a connection that is opened when it is needed.
type lane struct {
	turn chan struct{}

	current  *conn
	failed   error
	failedAt time.Time
}

func newLane() lane { return lane{turn: make(chan struct{}, 1)} }

// get returns a connection on which a call is begun; the caller ends it.
func (l *lane) get(ctx context.Context, socket, uri string) (*conn, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if l.current == nil || !l.current.usable() {
		if errors.Is(l.failed, errNotAccepted) && time.Since(l.failedAt) < reopenAfter {
			return nil, l.failed
		}
		opened, err := open(ctx, socket, uri)
		if l.failed = err; err != nil {
			l.failedAt = time.Now()
			return nil, err
		}
		if l.current != nil {
			l.current.retire()
		}
		l.current = opened
	}
	l.current.begin()
	return l.current, nil
}

func (l *lane) close() {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if l.current != nil {
		l.current.retire()
	}
}
