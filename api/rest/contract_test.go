package rest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth"
	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// document is api/openapi.yaml, which must itself be valid.
func document(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(berth.OpenAPI)
	require.NoError(t, err)
	require.NoError(t, doc.Validate(t.Context()))
	return doc
}

// The document's checks know text, but not that events are text.
func init() {
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.FileBodyDecoder)
}

var pathParameter = regexp.MustCompile(`[:*](\w+)`)

func TestRouterAndDocumentHaveTheSameOperations(t *testing.T) {
	doc := document(t)
	undone := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			undone[method+" "+path] = true
		}
	}
	for _, r := range (&server{}).routes() {
		path := pathParameter.ReplaceAllString(r.path, "{$1}")
		name := r.method + " " + path
		require.True(t, undone[name], "%s is not in the document", name)
		delete(undone, name)
		operation := doc.Paths.Value(path).GetOperation(r.method)

		var query []string
		for _, p := range operation.Parameters {
			if p.Value.In == openapi3.ParameterInQuery {
				query = append(query, p.Value.Name)
			}
		}
		require.ElementsMatch(t, r.query, query, "query parameters of %s", name)
		if r.scope == ScopeNone {
			require.NotNil(t, operation.Security, "%s needs no token", name)
			require.Empty(t, *operation.Security)
		} else {
			require.Nil(t, operation.Security, "%s needs a token", name)
			require.Contains(t, operation.Description, "Needs the scope "+r.scope.String())
		}
	}
	require.Empty(t, undone, "operations of the document that the router lacks")
}

// checked serves the API and holds every request and answer against the document.
func checked(t *testing.T, f *fakeBackend) *httptest.Server {
	t.Helper()
	doc := document(t)
	doc.Servers = nil
	router, err := gorillamux.NewRouter(doc)
	require.NoError(t, err)
	handler := open(f)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err := checkExchange(router, handler, w, r, body); err != nil {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func checkExchange(router routers.Router, handler http.Handler, w http.ResponseWriter, r *http.Request, body []byte) error {
	route, params, err := router.FindRoute(r)
	if err != nil {
		return fmt.Errorf("find the operation: %w", err)
	}
	in := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true},
	}
	if err := openapi3filter.ValidateRequest(r.Context(), in); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	record := httptest.NewRecorder()
	handler.ServeHTTP(record, r)
	for name, values := range record.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(record.Code)
	if _, err := w.Write(record.Body.Bytes()); err != nil {
		return err
	}
	err = openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: record.Code, Header: record.Header(),
		Body: io.NopCloser(bytes.NewReader(record.Body.Bytes())), Options: in.Options,
	})
	if err != nil {
		return fmt.Errorf("answer %d: %w", record.Code, err)
	}
	return nil
}

// changes are all that the Go client can ask for that changes something; of a workload; the rest is in one and lists.
func changes(t *testing.T, c *client.Client) []error {
	t.Helper()
	ctx := t.Context()
	w := &v1.Workload{
		APIVersion: v1.APIVersion, Kind: v1.KindContainer, Metadata: v1.Metadata{Name: "web"},
		Container: &v1.ContainerSpec{Image: "busybox", Resources: v1.Resources{CPUs: 500, Memory: 64 << 20}},
	}
	var errs collected
	errs.add(c.Put(ctx, w, false, client.Change{Generation: 3}))
	errs.add(c.Put(ctx, w, true, client.Change{Key: "k"}))
	errs.add(c.Do(ctx, "web", v1.VerbRemove, client.Change{Force: true, Volumes: true}))
	for _, verb := range []v1.Verb{v1.VerbStart, v1.VerbStop, v1.VerbRestart, v1.VerbRetry, v1.VerbRemove} {
		errs.add(c.Do(ctx, "web", verb, client.Change{}))
	}
	return errs
}

// sweeps are all that can be asked about sweeps.
func sweeps(t *testing.T, c *client.Client) []error {
	t.Helper()
	ctx, on, often := t.Context(), true, v1.Duration(time.Hour)
	r := v1.SweepRequest{Delete: true, Grace: v1.Duration(time.Minute), Hosts: []string{"h1"}, AllowMany: true}
	var errs collected
	errs.add(c.StartSweep(ctx, r, client.Change{}))
	errs.add(c.Sweep(ctx, client.LatestSweep, 0, ""))
	errs.add(c.Sweep(ctx, "0198c3c1-7b5e-7a52-8f57-3c2f3f0c7d11", 10, "100"))
	errs.add(c.SweepSchedule(ctx))
	errs.add(c.ChangeSweepSchedule(ctx, v1.SweepScheduleChange{Paused: &on, Interval: &often, Request: &r}))
	return errs
}

func one(t *testing.T, c *client.Client) []error {
	t.Helper()
	var errs collected
	errs.add(c.Get(t.Context(), "web"))
	errs.add(c.Action(t.Context(), "workload/web/deploy/7"))
	errs.add(c.Events(t.Context(), "web", 10, "bmV4dA"))
	errs.add(nil, c.Watch(t.Context(), "web", 0, func(v1.Event) error { return nil }))
	errs.add(c.Logs(t.Context(), "web", 10))
	errs.add(c.Host(t.Context(), "h1"))
	errs.add(c.Cordon(t.Context(), "h1", true))
	errs.add(c.Cordon(t.Context(), "h1", false))
	errs.add(c.SwitchRuntime(t.Context(), "h1", "docker", false))
	errs.add(c.SwitchRuntime(t.Context(), "h1", "docker", true))
	errs.add(c.Forget(t.Context(), "h1"))
	errs.add(c.Adopt(t.Context(), "h1"))
	return errs
}

func lists(t *testing.T, c *client.Client) []error {
	t.Helper()
	ctx := t.Context()
	var errs collected
	errs.add(c.List(ctx, client.Filter{Kind: "VM", Phase: "Running", Host: "h1", Label: "app=shop", Limit: 10, PageToken: "bmV4dA"}))
	errs.add(c.Hosts(ctx, 10, "bmV4dA"))
	errs.add(c.Actions(ctx, client.ActionFilter{Workload: "web", Verb: "start", Status: "Failed", Host: "h1", Since: at, Until: at, Limit: 5, PageToken: "bmV4dA"}))
	return errs
}

type collected []error

func (c *collected) add(_ any, err error) { *c = append(*c, err) }

func TestClientServerAndDocumentAgree(t *testing.T) {
	for _, applied := range []Applied{
		{Accepted: v1.Accepted{Generation: 1, Changed: "created", Seq: 1, RequestID: "r"}},
		{Accepted: v1.Accepted{Generation: 2, Changed: "updated"}},
		{Accepted: v1.Accepted{Generation: 1, Changed: "created"}, Started: true},
	} {
		s := checked(t, &fakeBackend{applied: applied})
		c, err := client.New(client.Options{Address: s.URL})
		require.NoError(t, err)
		for _, err := range slices.Concat(changes(t, c), one(t, c), lists(t, c), sweeps(t, c)) {
			require.NoError(t, err)
		}
	}
	for _, ok := range []bool{true, false} {
		s := checked(t, &fakeBackend{checks: []v1.Check{{Name: "worker", OK: ok, Message: "m"}}})
		c, err := client.New(client.Options{Address: s.URL})
		require.NoError(t, err)
		require.NoError(t, c.Live(t.Context()))
		health, err := c.Ready(t.Context())
		require.NoError(t, err)
		require.Equal(t, ok, health.OK)
	}
}

// Every reason that can be answered has a documented status in every operation that it can come from, and reaches the
// client as it is.
func TestProblemsAreDocumented(t *testing.T) {
	type calls func(*testing.T, *client.Client) []error
	all := []calls{changes, one, lists, sweeps}
	for reason, from := range map[v1.Reason][]calls{
		v1.ReasonInvalid:            all,
		v1.ReasonUnavailable:        all,
		v1.ReasonInternal:           all,
		v1.ReasonTooManyRequests:    all,
		v1.ReasonNotFound:           {changes, one, sweeps},
		v1.ReasonImmutable:          {changes},
		v1.ReasonPolicyDenied:       {changes},
		v1.ReasonAlreadyRemoving:    {changes},
		v1.ReasonGenerationMismatch: {changes},
		v1.ReasonSweepRunning:       {sweeps},
	} {
		t.Run(string(reason), func(t *testing.T) {
			s := checked(t, &fakeBackend{err: contract.Permanent(reason, "advice", "message")})
			c, err := client.New(client.Options{Address: s.URL})
			require.NoError(t, err)
			for _, ask := range from {
				for _, err := range ask(t, c) {
					var refused *client.Error
					require.ErrorAs(t, err, &refused)
					require.Equal(t, reason, refused.Reason)
					require.Equal(t, statusOf(reason), refused.Status)
					require.NotEmpty(t, refused.RequestID)
					require.Equal(t, problemBase+string(reason), refused.Type)
				}
			}
		})
	}
}
