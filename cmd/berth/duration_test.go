package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is wrong with a flag is said before anything is asked of the server, of which there is none here.
func TestMistakesInFlagsOfHosts(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no duration":               {[]string{"drain", "h1", "--deadline", "soon"}, `"soon" is not a duration such as 30s, 5m or 24h`},
		"no unit of ours":           {[]string{"drain", "h1", "--deadline", "40d"}, `"40d" is not a duration such as 30s, 5m or 24h`},
		"longer than any":           {[]string{"drain", "h1", "--deadline", "9999999h"}, `"9999999h" is too long: the longest duration is 292 years`},
		"longer than a drain":       {[]string{"drain", "h1", "--deadline", "8760h"}, "deadline: must be from 0s to 720h0m0s"},
		"a deadline of nothing":     {[]string{"drain", "h1", "--deadline", "0s"}, "--deadline must be more than nothing: --force stops at once"},
		"a deadline in the past":    {[]string{"drain", "h1", "--deadline=-5s"}, "--deadline must be more than nothing"},
		"nobody at a time":          {[]string{"drain", "h1", "--max-parallel", "0"}, "--max-parallel must be from 1 to 100"},
		"too many at a time":        {[]string{"drain", "h1", "--max-parallel", "101"}, "maxParallel: must be from 0 to 100"},
		"off and on":                {[]string{"host", "h1", "--disable-runtime", "docker", "--enable-runtime", "libvirt,docker"}, "docker is to be switched off and on"},
		"no runtime":                {[]string{"host", "h1", "--disable-runtime", ""}, "--disable-runtime names no runtime"},
		"an empty name":             {[]string{"cordon", ""}, "a name is empty"},
		"a timing that is too long": {[]string{"drain", "h1", "--timeout", "99999999h"}, "is too long"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := run(t, "", nil, append(tc.args, "--patience", "0s")...)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestAFlagForADuration(t *testing.T) {
	out, _, err := run(t, "", nil, "drain", "--help")
	require.NoError(t, err)
	require.Contains(t, out, "--deadline duration")
	require.Contains(t, out, "(default: never)\n", "nothing is not shown as a default of its own")
	require.Contains(t, out, "(default 1h0m0s)")
}
