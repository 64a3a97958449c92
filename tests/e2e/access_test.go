package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// another starts one more server of the fleet for a test, and returns the fleet as seen through it. It ends as a server
// should, so that other tests do not wait for what it had in its cache.
func another(t *testing.T, f *harness.Fleet, args ...string) *harness.Fleet {
	t.Helper()
	f.API = ""
	p := f.StartServer(append(pace, args...)...)
	t.Cleanup(p.Stop)
	return f
}

func newToken(t *testing.T, f *harness.Fleet, scope string) (secret, line string) {
	t.Helper()
	code, out := f.CLI("token", "new", "--name", "test-"+scope, "--scope", scope)
	require.Zero(t, code, out)
	for _, l := range strings.Split(out, "\n") {
		switch {
		case strings.HasPrefix(l, "berth_"):
			secret = l
		case strings.HasPrefix(l, "test-"):
			line = l
		}
	}
	require.NotEmpty(t, secret)
	require.NotEmpty(t, line)
	require.NotContains(t, line, secret)
	return secret, line
}

func tokens(t *testing.T, f *harness.Fleet) {
	reader, readLine := newToken(t, f, "read")
	writer, writeLine := newToken(t, f, "write")
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte(readLine+"\n"+writeLine+"\n"), 0o600))
	f = another(t, f, "--insecure-dev=false", "--tokens", file)

	auth := func(token string) string { return "Authorization: Bearer " + token }
	path := "/v1/workloads/guarded"
	w := nowhere(f, "guarded", "x")
	w.Container.Env = map[string]string{"PASSWORD": "hunter2"}

	r := call(t, f, http.MethodPut, path, w)
	problem(t, r, 401, v1.ReasonUnauthorized)
	require.NotEmpty(t, r.header.Get("WWW-Authenticate"))
	problem(t, call(t, f, http.MethodGet, path, nil, auth("berth_wrong")), 401, v1.ReasonUnauthorized)
	problem(t, call(t, f, http.MethodPut, path, w, auth(reader)), 403, v1.ReasonForbidden)
	noWorkflow(t, f, "guarded")
	created(t, call(t, f, http.MethodPut, path, w, auth(writer)))

	var read reply
	harness.Eventually(t, func() bool { // the spec comes from a worker
		read = call(t, f, http.MethodGet, path, nil, auth(reader))
		return strings.Contains(string(read.body), "PASSWORD")
	}, soon, poll)
	is[v1.View](t, read, 200)
	require.NotContains(t, string(read.body), "hunter2", "who may not write sees no secrets")
	harness.Eventually(t, func() bool {
		return strings.Contains(string(call(t, f, http.MethodGet, path, nil, auth(writer)).body), "hunter2")
	}, soon, poll)
	problem(t, call(t, f, http.MethodPost, path+"/restart", nil, auth(reader)), 403, v1.ReasonForbidden)
	problem(t, call(t, f, http.MethodDelete, path, nil, auth(reader)), 403, v1.ReasonForbidden)
	is[v1.Health](t, call(t, f, http.MethodGet, "/healthz/ready", nil), 200)

	// The file is read again when it changes.
	require.NoError(t, os.WriteFile(file, []byte(writeLine+"\n"), 0o600))
	harness.Eventually(t, func() bool { return call(t, f, http.MethodGet, path, nil, auth(reader)).status == 401 }, soon, poll)
	is[v1.Accepted](t, call(t, f, http.MethodDelete, path, nil, auth(writer)), 202)
	harness.Eventually(t, func() bool { return call(t, f, http.MethodGet, path, nil, auth(writer)).status == 404 }, soon, poll)

	server := f.Servers[len(f.Servers)-1]
	for _, secret := range []string{reader, writer, "hunter2"} {
		require.NotContains(t, server.Log(), secret)
	}
}

func burst(t *testing.T, f *harness.Fleet) {
	first := f.API
	f = another(t, f, "--max-writes", "1", "--max-queue", "1")
	const n = 40
	replies := make([]reply, n)
	var all sync.WaitGroup
	for i := range n {
		name := "burst-" + strconv.Itoa(i)
		w := nowhere(f, name, "burst")
		all.Go(func() { replies[i] = send(t.Context(), f.API, http.MethodPut, "/v1/workloads/"+name, w) })
	}
	all.Wait()
	accepted, refused := 0, 0
	f.API = first
	for i, r := range replies {
		require.NoError(t, r.err)
		name := "burst-" + strconv.Itoa(i)
		if r.status != http.StatusTooManyRequests {
			created(t, r)
			accepted++
			remove(t, f, name)
			continue
		}
		refused++
		problem(t, r, 429, v1.ReasonTooManyRequests)
		seconds, err := strconv.Atoi(r.header.Get("Retry-After"))
		require.NoError(t, err)
		require.Positive(t, seconds)
		noWorkflow(t, f, name)
	}
	require.Positive(t, accepted)
	require.Positive(t, refused)
}
