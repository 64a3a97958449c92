package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// reply is an answer of the API.
type reply struct {
	status int
	header http.Header
	body   []byte
	err    error
}

// send sends a request as curl would. A body that is no string is sent as JSON. Headers are "Name: value" each. It may be
// called in any goroutine.
func send(ctx context.Context, api, method, path string, body any, headers ...string) reply {
	payload, ok := body.(string)
	if !ok && body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return reply{err: err}
		}
		payload = string(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, api+path, bytes.NewReader([]byte(payload)))
	if err != nil {
		return reply{err: err}
	}
	for _, h := range append([]string{"Content-Type: application/json"}, headers...) {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return reply{status: res.StatusCode, header: res.Header, body: data, err: err}
}

// call sends a request to the first server, and requires that an answer comes.
func call(t *testing.T, f *harness.Fleet, method, path string, body any, headers ...string) reply {
	t.Helper()
	r := send(t.Context(), f.API, method, path, body, headers...)
	require.NoErrorf(t, r.err, "%s %s", method, path)
	return r
}

// is requires a status, and reads the answer.
func is[T any](t *testing.T, r reply, status int) T {
	t.Helper()
	require.Equalf(t, status, r.status, "%s", r.body)
	var out T
	require.NoErrorf(t, json.Unmarshal(r.body, &out), "%s", r.body)
	return out
}

// created requires that a new workload was accepted: at once, or for as soon as a worker answers, which takes a while if a
// task was on its way to one that was killed.
func created(t *testing.T, r reply) v1.Accepted {
	t.Helper()
	require.Containsf(t, []int{201, 202}, r.status, "%s", r.body)
	return is[v1.Accepted](t, r, r.status)
}

// problem requires an error as the API answers it.
func problem(t *testing.T, r reply, status int, reason v1.Reason) v1.Problem {
	t.Helper()
	p := is[v1.Problem](t, r, status)
	require.Equal(t, "application/problem+json", r.header.Get("Content-Type"))
	require.Equal(t, reason, p.Reason, "%s", r.body)
	require.Equal(t, status, p.Status)
	require.NotEmpty(t, p.RequestID)
	return p
}

// noWorkflow requires that nothing was started for a workload.
func noWorkflow(t *testing.T, f *harness.Fleet, workload string) {
	t.Helper()
	_, err := f.Temporal.Client().DescribeWorkflow(t.Context(), "workload/"+workload, "")
	var missing *serviceerror.NotFound
	require.ErrorAs(t, err, &missing)
}
