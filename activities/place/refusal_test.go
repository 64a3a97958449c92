package place

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/placement"
)

func TestRefusedSpeaksForAllHosts(t *testing.T) {
	full := placement.Refusal{Host: "a", Reason: v1.ReasonNoCapacity, Short: "memory short by 1Mi"}
	away := placement.Refusal{Host: "b", Reason: v1.ReasonHostOffline, Short: "the host is Offline"}
	other := placement.Refusal{Host: "c", Reason: v1.ReasonNoMatchingHost, Short: "the spec names other hosts"}
	excluded := placement.Refusal{Host: "d", Reason: v1.ReasonNoMatchingHost, Short: "the spec names other hosts", Excluded: true}
	taken := placement.Refusal{Host: "e", Reason: v1.ReasonPortConflict, Short: "port 80/tcp is reserved by web"}
	for name, c := range map[string]struct {
		refusals []placement.Refusal
		reason   v1.Reason
	}{
		"no host at all":        {nil, v1.ReasonNoMatchingHost},
		"all agree":             {[]placement.Refusal{away, away}, v1.ReasonHostOffline},
		"one only lacks room":   {[]placement.Refusal{away, full, other}, v1.ReasonNoCapacity},
		"they differ otherwise": {[]placement.Refusal{away, other}, v1.ReasonNoMatchingHost},
		"the spec allows one":   {[]placement.Refusal{excluded, taken, excluded}, v1.ReasonPortConflict},
		"the spec allows none":  {[]placement.Refusal{excluded, excluded}, v1.ReasonNoMatchingHost},
	} {
		t.Run(name, func(t *testing.T) {
			err := refused(c.refusals)
			require.Equal(t, c.reason, contract.ReasonOf(err))
			require.Equal(t, c.reason == v1.ReasonNoMatchingHost, contract.FromActivityError(contract.AsActivityError(err)).Guess)
			for _, r := range c.refusals {
				require.ErrorContains(t, err, r.Host+": "+r.Short)
			}
			require.NotEmpty(t, advice(c.reason))
		})
	}
}

func TestWhatTheAllowedHostsSayComesFirst(t *testing.T) {
	err := refused([]placement.Refusal{
		{Host: "a", Reason: v1.ReasonNoMatchingHost, Short: "the spec names other hosts", Excluded: true},
		{Host: "b", Reason: v1.ReasonPortConflict, Short: "port 80/tcp is reserved by web"},
	})
	require.EqualError(t, err, "PortConflict: b: port 80/tcp is reserved by web; a: the spec names other hosts")
}

func TestAskFirstKeepsEverybody(t *testing.T) {
	require.Equal(t, []string{"b", "a", "c"}, askFirst([]string{"a", "b", "c"}, "b"))
	require.Equal(t, []string{"a", "b"}, askFirst([]string{"a", "b"}, "gone"))
}
