package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
)

// Events returns one page of a workload's events, oldest first; the first page has the last ones.
func (c *Client) Events(ctx context.Context, name string, limit int, pageToken string) (v1.EventList, error) {
	var out v1.EventList
	err := c.do(ctx, call{
		method: http.MethodGet, path: []string{"v1/workloads", name, "events"}, query: values("limit", number(limit), "pageToken", pageToken),
		out: &out,
	})
	return out, err
}

// Watch hands out a workload's last events and then each that happens, until nothing can follow any more, take fails, or
// ctx ends. It connects again when the connection breaks, and gives up when that does not succeed for as long as the
// client's patience: with none, at the first break.
func (c *Client) Watch(ctx context.Context, name string, tail int, take func(v1.Event) error) error {
	w := watcher{take: take}
	giveUp := time.Now().Add(c.patience)
	for {
		before := w.last
		err := c.watchOnce(ctx, name, tail, &w)
		if w.ended || ctx.Err() != nil || w.failed != nil {
			return errors.Join(w.failed, ctx.Err())
		}
		if w.last != before || w.connected {
			giveUp, w.connected = time.Now().Add(c.patience), false
		}
		wait, again := repeatable(err, time.Second)
		if !again || time.Now().Add(wait).After(giveUp) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// watcher is a watch over its connections.
type watcher struct {
	take func(v1.Event) error
	// last is the id of the last event. Connected is set by an answer, ended by the last event of all.
	last             string
	connected, ended bool
	// failed is what take returned.
	failed error
}

// watchOnce reads one connection until it breaks, which is always an error: a stream has no end but the last event.
func (c *Client) watchOnce(ctx context.Context, name string, tail int, w *watcher) error {
	target, err := c.target([]string{"v1/workloads", name, "watch"})
	if err != nil {
		return err
	}
	target.RawQuery = values("tail", strconv.Itoa(tail)).Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("Accept", "text/event-stream")
	if w.last != "" {
		request.Header.Set("Last-Event-ID", w.last)
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	// The client's own timeout bounds whole answers; this one has no end.
	response, err := (&http.Client{Transport: c.http.Transport}).Do(request)
	if err != nil {
		return &Unreachable{Address: c.base.String(), Cause: err}
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		w.connected = true
		return &Unreachable{Address: c.base.String(), Cause: w.read(response.Body)}
	case http.StatusNoContent:
		w.ended = true
		return nil
	default:
		data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		if err != nil {
			return &Unreachable{Address: c.base.String(), Cause: err}
		}
		return errorOf(response, data)
	}
}

// read takes events out of a stream until that breaks, and returns why.
func (w *watcher) read(stream io.Reader) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		if !isData {
			continue // ids stand in the data as well
		}
		var e v1.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			w.failed = fmt.Errorf("read an event: %w", err)
			return w.failed
		}
		if w.failed = w.take(e); w.failed != nil {
			return w.failed
		}
		if w.last = e.ID; e.Type == v1.EventEnded {
			w.ended = true
			return io.EOF
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.EOF
}
