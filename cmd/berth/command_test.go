package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/api/rest"
)

// run runs a command as main does, with an environment of its own.
func run(t *testing.T, stdin string, env map[string]string, args ...string) (out, errOut string, err error) {
	t.Helper()
	var o, e strings.Builder
	a := &app{
		in: strings.NewReader(stdin), out: &o, err: &e,
		lookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}
	root := newRoot(a)
	root.SetArgs(args)
	err = root.ExecuteContext(t.Context())
	return o.String(), e.String(), err
}

func TestAllMistakesAreToldAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"bare server":  {[]string{"server"}, []string{"tokens: ", "key-file: "}},
		"open and not": {[]string{"server", "--insecure-dev", "--tokens", "/none", "--plaintext-history"}, []string{"tokens: either", "/none"}},
		"server": {
			[]string{"server", "--insecure-dev", "--plaintext-history", "--lease", "1s", "--log-level", "loud", "--listen", "nowhere", "--max-writes", "0"},
			[]string{"lease: ", "log-level: ", "listen: ", "max-writes: "},
		},
		"agent": {
			[]string{"agent", "--host-id", "Bad_Name", "--cpus", "many", "--memory", "x", "--domain-type", "xen", "--allow-path", "srv", "--allow-device", "/etc", "--keep-images", "59m"},
			[]string{"host-id: ", "cpus: ", "memory: ", "domain-type: ", "allow-path: ", "allow-device: ", "keep-images: must be at least 1h"},
		},
		"agent that offers less than nothing": {
			[]string{"agent", "--cpus", "-1", "--memory", "0", "--disk", "-5", "--label", "a=ü,berth.x=1"},
			[]string{"cpus: must be", "memory: must be", "disk: must be", "label: ", "labels.a", "the prefix berth."},
		},
		"dev": {
			[]string{"dev", "--hosts", "-1", "--listen", "0.0.0.0:1", "--temporal-bin", "/none/temporal", "--temporal-config", "/none/t.yaml"},
			[]string{"hosts: ", "listen: ", "temporal-bin: ", "temporal-config: "},
		},
		"events, none":           {[]string{"events", "web", "--limit", "0"}, []string{"--limit must be at least 1"}},
		"events, less than none": {[]string{"events", "web", "--follow", "--limit", "-1"}, []string{"--limit must be at least 0"}},
		"a sweep of no host":     {[]string{"sweep", "--once", "--delete", "--host", ""}, []string{"--host names no host"}},
		"a schedule of no host":  {[]string{"sweep", "schedule", "--delete", "--host", ""}, []string{"--host names no host"}},
		"actions of no time":     {[]string{"actions", "--since", "1h", "--until", "2h"}, []string{"since: is later than --until"}},
		"dev, all on one port": {
			[]string{"dev", "--listen", "127.0.0.1:28480", "--temporal-port", "27480", "--temporal-ui-port", "27480"},
			[]string{"temporal-ui-port: is the port of Temporal itself"},
		},
		"dev, the API on the port of the Web UI": {
			[]string{"dev", "--listen", "127.0.0.1:28480", "--temporal-port", "27480"}, []string{"listen: has the port of Temporal's Web UI, 28480"},
		},
		"dev, the API on the port of Temporal": {
			[]string{"dev", "--listen", "127.0.0.1:27480", "--temporal-port", "27480"}, []string{"listen: has the port of Temporal, 27480"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := run(t, "", nil, tc.args...)
			for _, want := range tc.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestServerWithoutTokensStaysOnLoopback(t *testing.T) {
	_, _, err := run(t, "", nil, "server", "--insecure-dev", "--plaintext-history", "--listen", "0.0.0.0:0")
	require.ErrorContains(t, err, "loopback")
}

func TestTokenNew(t *testing.T) {
	out, _, err := run(t, "", nil, "token", "new", "--name", "ci", "--scope", "write")
	require.NoError(t, err)
	secret, line, found := strings.Cut(strings.TrimSpace(out), "\n")
	require.True(t, found)
	require.NotContains(t, line, secret)
	file := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte(line), 0o600))
	tokens, err := rest.ReadTokens(file)
	require.NoError(t, err)
	require.Len(t, tokens, 1)
	require.Equal(t, rest.ScopeWrite, tokens[0].Scope)
	_, _, err = run(t, "", nil, "token", "new", "--name", "ci", "--scope", "root")
	require.ErrorContains(t, err, "read, write or admin")
}

const document = "apiVersion: berth/v1\nkind: Container\nmetadata: {name: %s}\nspec: {image: busybox}\n"

func doc(name string) string { return strings.ReplaceAll(document, "%s", name) }

func TestApplyChecksAllBeforeItSendsAny(t *testing.T) {
	var calls atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	for name, text := range map[string]string{"a.yaml": doc("a"), "b.yml": doc("a"), "c.json": "{", "notes.txt": "x"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	_, _, err := run(t, doc("Bad_Name"), map[string]string{"BERTH_ADDRESS": s.URL}, "apply", "-f", dir, "-f", "-")
	require.ErrorContains(t, err, "stands in")
	require.ErrorContains(t, err, "c.json")
	require.ErrorContains(t, err, "standard input")
	require.NotContains(t, err.Error(), "notes.txt")
	require.Zero(t, calls.Load())
}

func TestApplySendsTokenAndKey(t *testing.T) {
	var keys []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if len(keys) == 1 { // the first answer is lost in a restart of the server
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"reason":"Unavailable","status":503}`))
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"name":"web","generation":1,"changed":"created"}`))
	}))
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "client.yaml")
	require.NoError(t, os.WriteFile(file, []byte("address: "+s.URL+"\ntoken: secret\n"), 0o600))
	out, _, err := run(t, doc("web"), nil, "apply", "-f", "-", "--config", file, "-o", "json")
	require.NoError(t, err)
	require.JSONEq(t, `[{"name":"web","generation":1,"changed":"created"}]`, out)
	require.Len(t, keys, 2)
	require.Equal(t, keys[0], keys[1], "a repeat is the same request")

	out, _, err = run(t, doc("web"), map[string]string{"BERTH_TOKEN": "wrong"}, "apply", "-f", "-", "--config", file)
	require.ErrorContains(t, err, "401")
	require.NotContains(t, err.Error()+out, "wrong")
}
