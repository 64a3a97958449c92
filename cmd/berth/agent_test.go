package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHowLongImagesAreKept(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want time.Duration
	}{
		"unset":    {nil, 7 * 24 * time.Hour},
		"set":      {[]string{"--keep-images", "1h"}, time.Hour},
		"for ever": {[]string{"--keep-images", "0"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			first, amounts, err := agentFrom(t, tc.args...)
			require.NoError(t, err)
			require.Equal(t, tc.want, first.configs(amounts)[0].KeepImages)
			again, _, err := agentFrom(t, first.host.args()...)
			require.NoError(t, err)
			require.Equal(t, tc.want, again.host.keepImages, "dev passes it on")
		})
	}
	for _, wrong := range []string{"59m", "-1h"} {
		_, _, err := agentFrom(t, "--keep-images", wrong)
		require.ErrorContains(t, err, "keep-images: must be at least 1h")
	}
}
