package rest

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	web     = "/v1/workloads/web"
	minimal = `{"apiVersion":"berth/v1","kind":"Container","metadata":{"name":"web"},"spec":{"image":"busybox"}}`
)

func problem(t *testing.T, w *httptest.ResponseRecorder) v1.Problem {
	t.Helper()
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	var p v1.Problem
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
	require.Equal(t, w.Code, p.Status)
	require.Equal(t, w.Header().Get("X-Request-Id"), p.RequestID)
	return p
}

func TestBadRequests(t *testing.T) {
	for name, tc := range map[string]struct {
		method, target, body string
		header               []string
		status               int
		path                 string
	}{
		"unknown field":       {"PUT", web, strings.Replace(minimal, `"image"`, `"imgae":"x","image"`, 1), nil, 422, "spec.imgae"},
		"no image":            {"PUT", web, `{"apiVersion":"berth/v1","kind":"Container","metadata":{},"spec":{}}`, nil, 422, "spec.image"},
		"other name":          {"PUT", "/v1/workloads/db", minimal, nil, 422, "metadata.name"},
		"bad name":            {"PUT", "/v1/workloads/Web", minimal, nil, 422, "name"},
		"quoting name":        {"GET", "/v1/workloads/a'b", "", nil, 422, "name"},
		"not JSON":            {"PUT", web, "{", nil, 422, ""},
		"two YAML documents":  {"PUT", web, "a: 1\n---\n", []string{"Content-Type", "application/yaml"}, 422, ""},
		"bad generation":      {"PUT", web, minimal, []string{"If-Match", `"x"`}, 422, "If-Match"},
		"bad key":             {"POST", web + "/start", "", []string{"Idempotency-Key", "a b"}, 422, "Idempotency-Key"},
		"unknown parameter":   {"GET", "/v1/workloads?knid=VM", "", nil, 422, "knid"},
		"repeated parameter":  {"GET", "/v1/workloads?kind=VM&kind=VM", "", nil, 422, "kind"},
		"unknown kind":        {"GET", "/v1/workloads?kind=Pod", "", nil, 422, "kind"},
		"quoting host":        {"GET", "/v1/workloads?host=a'%20OR%20'1", "", nil, 422, "host"},
		"quoting label":       {"GET", "/v1/workloads?label=a%3D'", "", nil, 422, "label"},
		"since after until":   {"GET", "/v1/actions?since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z", "", nil, 422, "since"},
		"page too large":      {"GET", "/v1/workloads?limit=201", "", nil, 422, "limit"},
		"tail of nothing":     {"GET", web + "/logs?tail=0", "", nil, 422, "tail"},
		"a body for nobody":   {"POST", "/v1/hosts/h1/drain", `{"force":true}`, nil, 422, ""},
		"no such verb":        {"POST", web + "/explode", "", nil, 404, ""},
		"no such method":      {"PATCH", web, "", nil, 405, ""},
		"body too large":      {"PUT", web, strings.Repeat(" ", MaxBodyBytes+1), nil, 413, ""},
		"a page's own change": {"POST", web + "/stop", "", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeBackend{}
			w := ask(t, open(f), tc.method, tc.target, tc.body, tc.header...)
			require.Equal(t, tc.status, w.Code, w.Body)
			p := problem(t, w)
			require.Empty(t, f.seen, "nothing reached the backend")
			require.Equal(t, http.StatusText(tc.status), p.Title)
			if tc.path != "" {
				require.Equal(t, tc.path, string(p.Errors[0].Path))
			}
		})
	}
}

func TestPut(t *testing.T) {
	f := &fakeBackend{applied: Applied{Accepted: v1.Accepted{Generation: 1, Changed: "created"}}}
	w := ask(t, open(f), "PUT", web, minimal, "Idempotency-Key", "deploy-1", "X-Request-Id", "req-7")
	require.Equal(t, http.StatusCreated, w.Code, w.Body)
	require.Equal(t, `"1"`, w.Header().Get("ETag"))
	require.Equal(t, "req-7", w.Header().Get("X-Request-Id"))
	require.Equal(t, Request{ID: "deploy-1"}, f.seen)

	f.applied.Changed = "updated"
	three := int64(3)
	w = ask(t, open(f), "PUT", web, "apiVersion: berth/v1\nkind: Container\nmetadata: {}\nspec: {image: busybox}\n",
		"Content-Type", "application/yaml", "If-Match", `"3"`)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Equal(t, &three, f.seen.IfGeneration)
	require.NotEmpty(t, f.seen.ID)

	f.applied.Started = true
	require.Equal(t, http.StatusAccepted, ask(t, open(f), "PUT", web, minimal).Code)
	require.JSONEq(t, `{"name":"web","generation":2,"changed":"updated","dryRun":true,"changedFields":["spec.image"]}`,
		ask(t, open(f), "PUT", web+"?dryRun=true", minimal).Body.String())
}

func TestFailuresOfTheBackend(t *testing.T) {
	f := &fakeBackend{err: errors.New("password hunter2 leaked")}
	w := ask(t, open(f), "GET", web, "")
	require.Equal(t, v1.ReasonInternal, problem(t, w).Reason)
	require.NotContains(t, w.Body.String(), "hunter2")

	f.err = contract.Retryable(v1.ReasonUnavailable, "repeat it", "no worker")
	w = ask(t, open(f), "PUT", web, minimal)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	require.Equal(t, "repeat it", problem(t, w).Advice)
}

func TestOpenServerAnswersToLoopbackNamesOnly(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), "GET", "http://rebound.example"+web, nil)
	w := httptest.NewRecorder()
	open(&fakeBackend{}).ServeHTTP(w, r)
	require.Equal(t, http.StatusForbidden, w.Code)
}

func TestBurstIsTurnedAway(t *testing.T) {
	f := &fakeBackend{hold: make(chan struct{})}
	cfg := Config{Writes: 1, Queue: 1, QueueWait: 1 << 40}
	h := NewHandler(cfg.withDefaults(), Dependencies{Backend: f, Logger: discard()})
	codes := make(chan int, 3)
	for range 3 {
		r := httptest.NewRequestWithContext(t.Context(), "PUT", "http://127.0.0.1"+web, strings.NewReader(minimal))
		go func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			codes <- w.Code
		}()
	}
	require.Equal(t, http.StatusTooManyRequests, <-codes, "one is worked on, one waits, one is turned away")
	require.Equal(t, http.StatusOK, ask(t, h, "GET", web, "").Code, "reading goes on")
	close(f.hold)
	require.Equal(t, http.StatusOK, <-codes)
	require.Equal(t, http.StatusOK, <-codes)
}

func TestWaitingHasAnEnd(t *testing.T) {
	stopped := make(chan struct{})
	close(stopped)
	for name, a := range map[string]*admission{
		"in time":           newAdmission(1, 1, 1, nil),
		"with the server's": newAdmission(1, 1, 1<<40, stopped),
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, a.enter(t.Context()))
			require.Equal(t, v1.ReasonTooManyRequests, contract.ReasonOf(a.enter(t.Context())))
			a.leave()
			require.NoError(t, a.enter(t.Context()))
		})
	}
}

func TestWhoWaitsIsServedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers = 50
		a := newAdmission(1, callers, time.Hour, nil)
		require.NoError(t, a.enter(t.Context()))
		served := make(chan int, callers)
		for i := range callers {
			go func() {
				if a.enter(t.Context()) == nil {
					served <- i
					a.leave()
				}
			}()
			synctest.Wait()
		}
		a.leave()
		for i := range callers {
			require.Equal(t, i, <-served)
		}
	})
}

type panicking struct{ *fakeBackend }

func TestAPanicIsAnInternalError(t *testing.T) {
	h := NewHandler(Config{}.withDefaults(), Dependencies{Backend: panicking{}, Logger: discard()})
	w := ask(t, h, "GET", web, "")
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Equal(t, v1.ReasonInternal, problem(t, w).Reason)
}

func TestABodyOfYAMLNeedsNoContentType(t *testing.T) {
	f := &fakeBackend{}
	body := "apiVersion: berth/v1\nkind: Container\nspec:\n  image: busybox\n  restart: {policy: no}\n"
	for _, contentType := range []string{"", "application/yaml", "application/x-www-form-urlencoded"} {
		r := httptest.NewRequest(http.MethodPut, "http://127.0.0.1/v1/workloads/web?dryRun=true", strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		open(f).ServeHTTP(w, r)
		require.Equal(t, http.StatusOK, w.Code, "%s: %s", contentType, w.Body)
	}
	r := httptest.NewRequest(http.MethodPut, "http://127.0.0.1/v1/workloads/web", strings.NewReader(body+"  imgae: x\n"))
	w := httptest.NewRecorder()
	open(f).ServeHTTP(w, r)
	require.Equal(t, http.StatusUnprocessableEntity, w.Code)
	require.Contains(t, w.Body.String(), "spec.imgae")
}
