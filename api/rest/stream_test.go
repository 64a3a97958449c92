package rest

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
)

const within = 2 * time.Minute

// streams serves the API as NewServer does, with another pace.
func streams(t *testing.T, cfg Config, d Dependencies) *httptest.Server {
	t.Helper()
	d.Logger = discard()
	s := httptest.NewUnstartedServer(NewHandler(cfg.withDefaults(), d))
	s.Config.ReadTimeout = 100 * time.Millisecond
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// answered is the head of an answer, and its body as it comes.
type answered struct {
	status int
	header http.Header
	body   *bufio.Reader
}

// watchURL begins to watch.
func watchURL(ctx context.Context, t *testing.T, s *httptest.Server, header ...string) answered {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/workloads/web/watch", http.NoBody)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := s.Client().Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	return answered{response.StatusCode, response.Header, bufio.NewReader(response.Body)}
}

// quiet is a watch that hears nothing until it is left, and says so.
func quiet(left chan<- struct{}) Watch {
	return func(ctx context.Context, _ func(v1.Event) error) error {
		<-ctx.Done()
		left <- struct{}{}
		return ctx.Err()
	}
}

func TestAQuietStreamIsKeptUpAndLeft(t *testing.T) {
	left := make(chan struct{}, 1)
	f := &fakeBackend{watch: quiet(left)}
	s := streams(t, Config{WatchBeat: 20 * time.Millisecond}, Dependencies{Backend: f})
	ctx, cancel := context.WithCancel(t.Context())
	response := watchURL(ctx, t, s, "Last-Event-ID", "some.1.1")
	require.Equal(t, http.StatusOK, response.status)
	require.Equal(t, "text/event-stream", response.header.Get("Content-Type"))
	require.Equal(t, "some.1.1", f.after)
	lines := bufio.NewScanner(response.body)
	begin := time.Now()
	for beats := 0; beats < 20; { // longer than a request may take to be read
		require.True(t, lines.Scan(), "%v", lines.Err())
		if strings.HasPrefix(lines.Text(), ":") {
			beats++
		}
	}
	require.Greater(t, time.Since(begin), 200*time.Millisecond)
	cancel()
	select {
	case <-left:
	case <-time.After(within):
		require.Fail(t, "a client that went away ends the watch")
	}
}

func TestWatchersAreBounded(t *testing.T) {
	left := make(chan struct{}, 2)
	s := streams(t, Config{Watchers: 1}, Dependencies{Backend: &fakeBackend{watch: quiet(left)}})
	ctx, cancel := context.WithCancel(t.Context())
	require.Equal(t, http.StatusOK, watchURL(ctx, t, s).status)
	second := watchURL(t.Context(), t, s)
	require.Equal(t, http.StatusTooManyRequests, second.status)
	require.Equal(t, "application/problem+json", second.header.Get("Content-Type"))
	require.Equal(t, "5", second.header.Get("Retry-After"))
	cancel()
	<-left
	require.Eventually(t, func() bool { return watchURL(t.Context(), t, s).status == http.StatusOK }, within, 10*time.Millisecond)
}

func TestAServerThatStopsEndsItsStreams(t *testing.T) {
	left, closing := make(chan struct{}, 1), make(chan struct{})
	s := streams(t, Config{}, Dependencies{Backend: &fakeBackend{watch: quiet(left)}, Closing: closing})
	response := watchURL(t.Context(), t, s)
	close(closing)
	_, err := response.body.ReadString(0)
	require.ErrorContains(t, err, "EOF")
	<-left
}

func TestAWatchThatNothingCanFollow(t *testing.T) {
	w := ask(t, open(&fakeBackend{nothing: true}), http.MethodGet, "/v1/workloads/web/watch?tail=0", "")
	require.Equal(t, http.StatusNoContent, w.Code)
	require.Empty(t, w.Body)
	for target, want := range map[string]int{"?tail=201": 422, "?tail=-1": 422, "?tail=x": 422, "?tial=1": 422} {
		require.Equal(t, want, ask(t, open(&fakeBackend{}), http.MethodGet, "/v1/workloads/web/watch"+target, "").Code, target)
	}
}

// The client goes on where a stream broke off, and knows the end.
func TestTheClientWatchesOverBreaks(t *testing.T) {
	calls := 0
	f := &fakeBackend{}
	f.watch = func(_ context.Context, emit func(v1.Event) error) error {
		calls++
		if calls == 1 {
			return errors.Join(emit(v1.Event{ID: "one", Type: v1.EventPhase}), errors.New("Temporal is away"))
		}
		return emit(v1.Event{ID: "two", Type: v1.EventEnded})
	}
	s := streams(t, Config{}, Dependencies{Backend: f})
	c, err := client.New(client.Options{Address: s.URL, Patience: within})
	require.NoError(t, err)
	var got []string
	require.NoError(t, c.Watch(t.Context(), "web", 3, func(e v1.Event) error {
		got = append(got, e.ID)
		return nil
	}))
	require.Equal(t, []string{"one", "two"}, got)
	require.Equal(t, "one", f.after)
	require.Equal(t, 3, f.tail)

	refused := errors.New("enough")
	require.ErrorIs(t, c.Watch(t.Context(), "web", 3, func(v1.Event) error { return refused }), refused)
}
