package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

type settings struct {
	listen string
	wait   time.Duration
	labels map[string]string
	paths  []string
	open   bool
	count  int
}

func flagsOf(s *settings) *pflag.FlagSet {
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.StringVar(&s.listen, "listen", "default", "")
	f.DurationVar(&s.wait, "wait", time.Second, "")
	f.StringToStringVar(&s.labels, "label", nil, "")
	f.StringSliceVar(&s.paths, "allow-path", nil, "")
	f.BoolVar(&s.open, "insecure-dev", false, "")
	f.IntVar(&s.count, "max", 1, "")
	return f
}

func source(t *testing.T, file string, env map[string]string) Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "berth.yaml")
	require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
	return Source{
		File: path, Known: []string{"tokens"},
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}
}

func TestPrecedence(t *testing.T) {
	const file = "listen: file\nwait: 3s\nmax: 7\ntokens: of-another-command\n"
	for name, tc := range map[string]struct {
		args []string
		env  map[string]string
		want string
	}{
		"file":        {nil, nil, "file"},
		"environment": {nil, map[string]string{"BERTH_LISTEN": "env"}, "env"},
		"flag":        {[]string{"--listen", "flag"}, map[string]string{"BERTH_LISTEN": "env"}, "flag"},
	} {
		t.Run(name, func(t *testing.T) {
			var s settings
			flags := flagsOf(&s)
			require.NoError(t, flags.Parse(tc.args))
			require.NoError(t, Fill(flags, source(t, file, tc.env)))
			require.Equal(t, tc.want, s.listen)
			require.Equal(t, 3*time.Second, s.wait)
			require.Equal(t, 7, s.count)
		})
	}
}

func TestListsAndMappings(t *testing.T) {
	var s settings
	require.NoError(t, Fill(flagsOf(&s), source(t, "label: {zone: a, rack: 2}\nallow-path: [/srv, /data]\ninsecure-dev: true\n", nil)))
	require.Equal(t, map[string]string{"zone": "a", "rack": "2"}, s.labels)
	require.Equal(t, []string{"/srv", "/data"}, s.paths)
	require.True(t, s.open)

	s = settings{}
	require.NoError(t, Fill(flagsOf(&s), source(t, "", map[string]string{"BERTH_ALLOW_PATH": "/a,/b", "BERTH_LABEL": "zone=b"})))
	require.Equal(t, []string{"/a", "/b"}, s.paths)
	require.Equal(t, map[string]string{"zone": "b"}, s.labels)
}

func TestAllMistakesAtOnceAndNoValues(t *testing.T) {
	var s settings
	err := Fill(flagsOf(&s), source(t, "lisetn: x\nmax: hunter2\nallow-path:\n", map[string]string{"BERTH_WAIT": "hunter2"}))
	var m *Mistakes
	require.ErrorAs(t, err, &m)
	for _, want := range []string{"4 wrong settings", "lisetn: ", "max: ", "allow-path: ", "BERTH_WAIT"} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "hunter2")
}

func TestAbsentFile(t *testing.T) {
	var s settings
	src := Source{File: filepath.Join(t.TempDir(), "none.yaml"), Optional: true, LookupEnv: os.LookupEnv}
	require.NoError(t, Fill(flagsOf(&s), src))
	src.Optional = false
	require.ErrorContains(t, Fill(flagsOf(&s), src), "none.yaml")
}
