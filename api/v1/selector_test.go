package v1

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseLabelSelector(t *testing.T) {
	s, err := ParseLabelSelector("app=shop, tier=front,empty=,app=shop")
	require.NoError(t, err)
	require.Equal(t, LabelSelector{"app": "shop", "tier": "front", "empty": ""}, s)
	require.Equal(t, "app=shop,empty=,tier=front", s.String())
	require.True(t, s.Matches(map[string]string{"app": "shop", "tier": "front", "empty": "", "more": "x"}))
	require.False(t, s.Matches(map[string]string{"app": "shop", "tier": "front"}))
	require.False(t, s.Matches(map[string]string{"app": "shop", "tier": "back", "empty": ""}))

	s, err = ParseLabelSelector(" ")
	require.NoError(t, err)
	require.Empty(t, s)
	require.True(t, s.Matches(nil))
}

func TestParseLabelSelectorRefuses(t *testing.T) {
	for _, in := range []string{"app", "=x", "a=b=c", "a=x'y", "a='x'", "a=x,,b=y", ",", "a=b OR c=d", "a=1,a=2", strings.Repeat("a=b,", 16) + "a=b"} {
		_, err := ParseLabelSelector(in)
		require.Error(t, err, in)
		require.NotEmpty(t, fieldErrors(t, err))
	}
}

func FuzzParseLabelSelector(f *testing.F) {
	for _, seed := range []string{"a=b", "a=b,c=d", "a=", "=", "a='"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		s, err := ParseLabelSelector(in)
		if err != nil {
			return
		}
		require.NotContains(t, s.String(), "'")
		again, err := ParseLabelSelector(s.String())
		require.NoError(t, err)
		require.True(t, again.Matches(s) && s.Matches(again))
	})
}
