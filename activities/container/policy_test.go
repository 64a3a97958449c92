package container

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestPolicyOnBinds(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	at := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	for _, d := range []string{"srv/data/in", "srv/data2", "etc"} {
		require.NoError(t, os.MkdirAll(at(d), 0o755))
	}
	require.NoError(t, os.Symlink(at("etc"), at("srv/data/out")))
	require.NoError(t, os.Symlink(at("srv/data/in"), at("srv/data/link")))
	require.NoError(t, os.Symlink(at("srv/data"), at("alias")))

	for name, test := range map[string]struct {
		allow  []string
		path   string
		want   string // the path that is mounted
		reason v1.Reason
	}{
		"under the prefix":                 {[]string{at("srv/data")}, at("srv/data/in"), at("srv/data/in"), ""},
		"the prefix itself":                {[]string{at("srv/data")}, at("srv/data"), at("srv/data"), ""},
		"a prefix that is a link":          {[]string{at("alias")}, at("srv/data/in"), at("srv/data/in"), ""},
		"through a link to it":             {[]string{at("srv/data")}, at("alias/in"), at("srv/data/in"), ""},
		"a link that stays inside":         {[]string{at("srv/data")}, at("srv/data/link"), at("srv/data/in"), ""},
		"everything":                       {[]string{"/"}, at("etc"), at("etc"), ""},
		"denied by default":                {nil, at("srv/data"), "", v1.ReasonPolicyDenied},
		"a name that only begins the same": {[]string{at("srv/data")}, at("srv/data2"), "", v1.ReasonPolicyDenied},
		"a link that leads out":            {[]string{at("srv/data")}, at("srv/data/out"), "", v1.ReasonPolicyDenied},
		"dots that lead out":               {[]string{at("srv/data")}, at("srv/data") + "/../../etc", "", v1.ReasonPolicyDenied},
		"not there":                        {[]string{at("srv/data")}, at("srv/data/none"), "", v1.ReasonInvalid},
		"not there, outside":               {[]string{at("srv/data")}, at("srv/none"), "", v1.ReasonPolicyDenied},
		"relative":                         {[]string{"/"}, "srv", "", v1.ReasonInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			p := policy{host: "h1", paths: test.allow}
			g, err := p.check(&v1.ContainerSpec{Volumes: []v1.Mount{{Bind: test.path, Target: "/data"}}})
			require.Equal(t, test.reason, contract.ReasonOf(err), "%v", err)
			if test.reason == "" {
				require.Equal(t, test.want, g.paths[test.path])
				return
			}
			var e *contract.Error
			require.ErrorAs(t, err, &e)
			require.True(t, e.Permanent)
			require.NotEmpty(t, e.Advice)
		})
	}
}

func TestPolicyNoticesASwap(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	mounted, elsewhere := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	require.NoError(t, os.Mkdir(mounted, 0o755))
	require.NoError(t, os.Mkdir(elsewhere, 0o755))
	p := policy{host: "h1", paths: []string{dir}}
	c := Container{Binds: []string{mounted}}
	require.NoError(t, p.stands(c))
	require.NoError(t, os.Remove(mounted))
	require.NoError(t, os.Symlink(elsewhere, mounted))
	require.Equal(t, v1.ReasonPolicyDenied, contract.ReasonOf(p.stands(c)))
}

func TestPolicyOnDevices(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "by-name")
	require.NoError(t, os.Symlink("/dev/null", link))
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, test := range map[string]struct {
		allow  []string
		path   string
		reason v1.Reason
	}{
		"by path":                        {[]string{"/dev/null"}, "/dev/null", ""},
		"by pattern":                     {[]string{"/dev/nul?"}, "/dev/null", ""},
		"by an allowed link":             {[]string{link}, link, ""},
		"through a link":                 {[]string{"/dev/null"}, link, ""},
		"denied by default":              {nil, "/dev/null", v1.ReasonPolicyDenied},
		"another one":                    {[]string{"/dev/null"}, "/dev/zero", v1.ReasonPolicyDenied},
		"a pattern spans no directories": {[]string{"/dev*"}, "/dev/null", v1.ReasonPolicyDenied},
		"no device":                      {[]string{file}, file, v1.ReasonInvalid},
		"not there":                      {[]string{"/dev/*"}, "/dev/berth-none", v1.ReasonInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := policy{host: "h1", devices: test.allow}.check(&v1.ContainerSpec{Devices: []v1.Device{{Host: test.path}}})
			require.Equal(t, test.reason, contract.ReasonOf(err), "%v", err)
			if test.reason == "" {
				require.Equal(t, []v1.Device{{Host: test.path, Container: test.path, Permissions: "rwm"}}, g.devices)
			}
		})
	}
}

func TestPolicyKeepsOurLabels(t *testing.T) {
	_, err := policy{}.check(&v1.ContainerSpec{Labels: map[string]string{"berth.fence": "1"}})
	require.Equal(t, v1.ReasonPolicyDenied, contract.ReasonOf(err))
}
