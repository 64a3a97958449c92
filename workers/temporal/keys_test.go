package temporal

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseKeys(t *testing.T) {
	good, err := NewKey("2026-01")
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		text string
		want int
		err  string
	}{
		"one":            {good.Line() + "\n", 1, ""},
		"comments":       {"# active\n\n" + good.Line(), 1, ""},
		"no colon":       {"hunter2", 0, "line 1"},
		"short key":      {"a:aHVudGVyMg==", 0, "line 1"},
		"not base64":     {good.Line() + "\na:***hunter2***", 1, "line 2"},
		"bad id":         {strings.Replace(good.Line(), "2026-01", "a b", 1), 0, "line 1"},
		"every mistake":  {"hunter2\nhunter2", 0, "line 2"},
		"empty is empty": {"", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			keys, err := ParseKeys(strings.NewReader(tc.text))
			require.Len(t, keys, tc.want)
			if tc.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.err)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestLoadKeysRefusesAFileOfEverybody(t *testing.T) {
	key, err := NewKey("k")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(path, []byte(key.Line()), 0o600))
	_, err = LoadKeys(path)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(path, 0o644))
	_, err = LoadKeys(path)
	require.ErrorContains(t, err, "chmod")
}

func TestNewCodecRefusesARepeatedID(t *testing.T) {
	key, err := NewKey("k")
	require.NoError(t, err)
	_, err = NewCodec([]Key{key, key})
	require.ErrorContains(t, err, "twice")
	_, err = NewCodec(nil)
	require.Error(t, err)
}

func FuzzParseKeys(f *testing.F) {
	f.Add("a:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n")
	f.Add("# c\n:\n")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := ParseKeys(strings.NewReader(text))
		for _, k := range keys {
			require.Len(t, k.Secret, keyBytes)
			again, err := ParseKeys(strings.NewReader(k.Line()))
			require.NoError(t, err)
			require.Equal(t, []Key{k}, again)
		}
		_ = err
	})
}

func TestClientOptionsPrecedence(t *testing.T) {
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "none.toml"))
	t.Setenv("TEMPORAL_ADDRESS", "from-env:1")
	t.Setenv("TEMPORAL_NAMESPACE", "env-ns")
	logger := slog.New(slog.DiscardHandler)
	opts, err := Options{}.ClientOptions(logger)
	require.NoError(t, err)
	require.Equal(t, "from-env:1", opts.HostPort)
	require.Equal(t, "env-ns", opts.Namespace)
	require.Nil(t, opts.FailureConverter)

	opts, err = Options{Address: "flag:2", Namespace: "flag-ns"}.ClientOptions(logger)
	require.NoError(t, err)
	require.Equal(t, "flag:2", opts.HostPort)
	require.Equal(t, "flag-ns", opts.Namespace)

	t.Setenv("TEMPORAL_PROFILE", "absent")
	_, err = Options{}.ClientOptions(logger)
	require.ErrorContains(t, err, "absent")
}
