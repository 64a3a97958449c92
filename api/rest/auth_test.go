package rest

import (
	"bytes"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// guarded is the API with a token of each scope.
func guarded(t *testing.T, f *fakeBackend, logger *slog.Logger) (h http.Handler, file string, tokens map[Scope]string) {
	t.Helper()
	var lines []string
	tokens = map[Scope]string{}
	for _, scope := range []Scope{ScopeRead, ScopeWrite, ScopeAdmin} {
		secret, token, err := NewToken("the-"+scope.String(), scope)
		require.NoError(t, err)
		tokens[scope] = secret
		lines = append(lines, token.Line())
	}
	file = filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(file, []byte("# tokens\n"+strings.Join(lines, "\n")+"\n"), 0o600))
	auth, err := NewAuthenticator(file, discard())
	require.NoError(t, err)
	return NewHandler(Config{}.withDefaults(), Dependencies{Backend: f, Logger: logger, Auth: auth}), file, tokens
}

func TestScopes(t *testing.T) {
	h, _, tokens := guarded(t, &fakeBackend{}, discard())
	for _, r := range (&server{}).routes() {
		target := strings.ReplaceAll(r.path, ":name", "web")
		body := ""
		if r.method == http.MethodPut {
			body = minimal
		}
		if r.scope == ScopeNone {
			require.Less(t, ask(t, h, r.method, target, body).Code, 300, target)
			continue
		}
		require.Equal(t, http.StatusUnauthorized, ask(t, h, r.method, target, body).Code, "%s %s without a token", r.method, target)
		require.Equal(t, http.StatusUnauthorized, ask(t, h, r.method, target, body, "Authorization", "Bearer berth_x").Code)
		require.Equal(t, http.StatusUnauthorized, ask(t, h, r.method, target, body, "Authorization", "Basic "+tokens[ScopeAdmin]).Code)
		for scope, secret := range tokens {
			w := ask(t, h, r.method, target, body, "Authorization", "Bearer "+secret)
			require.Equal(t, scope < r.scope, w.Code == http.StatusForbidden, "%s %s with %s: %s", r.method, target, scope, w.Body)
		}
	}
}

func TestReadersSeeNoSecrets(t *testing.T) {
	f := &fakeBackend{}
	h, _, tokens := guarded(t, f, discard())
	ask(t, h, "GET", web, "", "Authorization", "Bearer "+tokens[ScopeRead])
	require.False(t, f.secrets)
	ask(t, h, "GET", web, "", "Authorization", "Bearer "+tokens[ScopeWrite])
	require.True(t, f.secrets)
}

func TestTokensAreReadAgain(t *testing.T) {
	h, file, tokens := guarded(t, &fakeBackend{}, discard())
	old := []string{"Authorization", "Bearer " + tokens[ScopeRead]}
	require.Equal(t, http.StatusOK, ask(t, h, "GET", web, "", old...).Code)

	secret, token, err := NewToken("new", ScopeRead)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(token.Line()), 0o600))
	require.Equal(t, http.StatusUnauthorized, ask(t, h, "GET", web, "", old...).Code, "a token that was taken out is void at once")
	fresh := []string{"Authorization", "Bearer " + secret}
	require.Equal(t, http.StatusOK, ask(t, h, "GET", web, "", fresh...).Code)

	require.NoError(t, os.WriteFile(file, []byte("nonsense"), 0o600))
	require.Equal(t, http.StatusOK, ask(t, h, "GET", web, "", fresh...).Code, "a broken file locks nobody out")
}

func TestLogsHoldNoSecrets(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h, _, tokens := guarded(t, &fakeBackend{}, logger)
	body := strings.Replace(minimal, `"image"`, `"env":{"P":"hunter2"},"imgae":"hunter2","image"`, 1)
	ask(t, h, "PUT", web+"?token=hunter2", body, "Authorization", "Bearer "+tokens[ScopeWrite])
	ask(t, h, "PUT", web, body, "Authorization", "Bearer "+tokens[ScopeWrite])
	ask(t, h, "PUT", web, body, "Authorization", "Bearer hunter2")
	ask(t, h, "PUT", web, strings.Replace(minimal, "busybox", "busybox\",\"env\":{\"P\":\"hunter2\"},\"user\":\"", 1), "Authorization", "Bearer "+tokens[ScopeWrite])
	require.Contains(t, log.String(), `"token":"the-write"`)
	require.Contains(t, log.String(), `"workload":"web"`)
	require.NotContains(t, log.String(), "hunter2")
	require.NotContains(t, log.String(), tokens[ScopeWrite])
}

func TestParseTokensTellsEveryMistakeAndNoSecret(t *testing.T) {
	secret, token, err := NewToken("ci", ScopeRead)
	require.NoError(t, err)
	_, err = ParseTokens(strings.NewReader(strings.Join([]string{
		secret, "a:read:abc", "b:root:" + strings.Repeat("0", 64), token.Line(), token.Line(),
	}, "\n")))
	for _, line := range []string{"line 1", "line 2", "line 3", "line 5"} {
		require.ErrorContains(t, err, line)
	}
	require.NotContains(t, err.Error(), secret)
	_, _, err = NewToken("no spaces", ScopeRead)
	require.Error(t, err)
}

func FuzzParseTokens(f *testing.F) {
	f.Add("ci:read:" + strings.Repeat("ab", 32))
	f.Add("# c\n::\n")
	f.Fuzz(func(t *testing.T, text string) {
		tokens, _ := ParseTokens(strings.NewReader(text))
		for _, token := range tokens {
			again, err := ParseTokens(strings.NewReader(token.Line()))
			require.NoError(t, err)
			require.Equal(t, []Token{token}, again)
		}
	})
}

func TestAuthenticatorRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	_, err := NewAuthenticator(file, discard())
	require.Error(t, err)
	require.NoError(t, os.WriteFile(file, []byte("# none\n"), 0o600))
	_, err = NewAuthenticator(file, discard())
	require.ErrorContains(t, err, "no token")
	require.NoError(t, os.Chmod(file, 0o666))
	_, err = NewAuthenticator(file, discard())
	require.ErrorContains(t, err, "chmod")
}

func TestServerWithoutTokensStaysOnLoopback(t *testing.T) {
	for listen, allowed := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "[::1]:0": true, "0.0.0.0:0": false, ":0": false, "192.0.2.1:0": false,
	} {
		_, err := NewServer(Config{Listen: listen}, &fakeBackend{}, discard())
		require.Equal(t, allowed, err == nil, listen)
	}
}
