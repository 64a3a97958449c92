package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// writeWithin is how long one write to a client may take that reads nothing.
	writeWithin = 30 * time.Second
	// reconnectAfter is what clients are told to wait before they connect again.
	reconnectAfter = time.Second
)

var errManyWatchers = func() error {
	e := contract.Retryable(v1.ReasonTooManyRequests, "try again after the time in Retry-After, with the same Last-Event-ID",
		"more watch at once than the server allows")
	e.After = 5 * time.Second
	return e
}()

// stream answers with server-sent events for as long as the client listens, the watch goes on and the server runs.
func (s *server) stream(c *gin.Context, watch Watch) {
	select {
	case s.watchers <- struct{}{}:
		defer func() { <-s.watchers }()
	default:
		writeProblem(c, errManyWatchers)
		return
	}
	ctx, cancel := context.WithCancel(c.Request.Context())
	defer cancel()
	w := &eventWriter{c: c, rc: http.NewResponseController(c.Writer)}
	w.begin()
	events, ended := make(chan v1.Event), make(chan error, 1)
	go func() {
		ended <- watch(ctx, func(e v1.Event) error {
			select {
			case events <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	beat := time.NewTicker(s.watchBeat)
	defer beat.Stop()
	for {
		var err error
		select {
		case e := <-events:
			err = w.event(e)
		case <-beat.C:
			err = w.write(": still watching\n\n") // so that no proxy takes the connection for dead
		case err := <-ended:
			// The client connects again, and goes on where it was.
			if err != nil && ctx.Err() == nil {
				_ = c.Error(fmt.Errorf("a watch broke off: %w", err))
			}
			return
		case <-s.Closing:
			return
		case <-ctx.Done():
			return
		}
		if err != nil {
			return // nobody reads any more
		}
	}
}

// eventWriter writes server-sent events.
type eventWriter struct {
	c  *gin.Context
	rc *http.ResponseController
}

func (w *eventWriter) begin() {
	// The deadline for reading the request would end the stream as well.
	_ = w.rc.SetReadDeadline(time.Time{}) // a writer of tests has none
	h := w.c.Writer.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would keep events back
	w.c.Status(http.StatusOK)
	_ = w.write(fmt.Sprintf("retry: %d\n\n", reconnectAfter.Milliseconds())) // the next write fails as well
}

func (w *eventWriter) event(e v1.Event) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return w.write(fmt.Sprintf("id: %s\ndata: %s\n\n", e.ID, data))
}

func (w *eventWriter) write(text string) error {
	if err := w.rc.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := w.c.Writer.WriteString(text); err != nil {
		return err
	}
	return w.rc.Flush()
}
