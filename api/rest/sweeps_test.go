package rest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
)

func TestSweepRequestsAreReadStrictly(t *testing.T) {
	for body, status := range map[string]int{
		"":                                  http.StatusAccepted,
		"{}":                                http.StatusAccepted,
		`{"delete": true, "grace": "1h"}`:   http.StatusAccepted,
		`{"hosts": ["h1", "h2"]}`:           http.StatusAccepted,
		`{"delet": true}`:                   http.StatusUnprocessableEntity,
		`{"delete": "yes"}`:                 http.StatusUnprocessableEntity,
		`{"grace": "-1h"}`:                  http.StatusUnprocessableEntity,
		`{"hosts": ["H 1"]}`:                http.StatusUnprocessableEntity,
		`{} {}`:                             http.StatusUnprocessableEntity,
		"[]":                                http.StatusUnprocessableEntity,
		strings.Repeat(" ", MaxBodyBytes+1): http.StatusRequestEntityTooLarge,
	} {
		w := ask(t, open(&fakeBackend{}), http.MethodPost, "/v1/sweeps", body)
		require.Equal(t, status, w.Code, "%.40s: %s", body, w.Body)
	}
	f := &fakeBackend{}
	w := ask(t, open(f), http.MethodPost, "/v1/sweeps", `{"delete": true, "grace": "1h", "hosts": ["h1"], "allowMany": true}`, "Idempotency-Key", "k")
	require.Equal(t, "/v1/sweeps/"+sampleSweep().ID, w.Header().Get("Location"))
	require.Equal(t, "k", f.seen.ID)
	require.Equal(t, v1.SweepRequest{Delete: true, Grace: v1.Duration(time.Hour), Hosts: []string{"h1"}, AllowMany: true}, f.sweep)
}

func TestWhichSweep(t *testing.T) {
	f := &fakeBackend{}
	require.Equal(t, http.StatusOK, ask(t, open(f), http.MethodGet, "/v1/sweeps/latest", "").Code)
	require.Empty(t, f.sweepID)
	require.Equal(t, Page{Size: v1.SweepThings}, f.page)
	id := sampleSweep().ID
	require.Equal(t, http.StatusOK, ask(t, open(f), http.MethodGet, "/v1/sweeps/"+id+"?limit=50&pageToken=100", "").Code)
	require.Equal(t, id, f.sweepID)
	require.Equal(t, Page{Size: 50, Token: "100"}, f.page)
	require.Equal(t, http.StatusUnprocessableEntity, ask(t, open(f), http.MethodGet, "/v1/sweeps/first", "").Code)
}

func TestScheduleChanges(t *testing.T) {
	f := &fakeBackend{}
	require.Equal(t, http.StatusOK, ask(t, open(f), http.MethodPatch, "/v1/sweep-schedule", `{"paused": false, "interval": "1h"}`).Code)
	require.False(t, *f.schedule.Paused)
	require.Equal(t, v1.Duration(time.Hour), *f.schedule.Interval)
	require.Nil(t, f.schedule.Request, "what is left out stays")
	for _, body := range []string{`{"interval": "1s"}`, `{"request": {"grace": "-1s"}}`, `{"pause": true}`} {
		require.Equal(t, http.StatusUnprocessableEntity, ask(t, open(f), http.MethodPatch, "/v1/sweep-schedule", body).Code, body)
	}
}
