package contract_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestCheckStrict(t *testing.T) {
	for name, c := range map[string]struct {
		strict bool
		stop   time.Duration
		grace  time.Duration
		says   string
	}{
		"the defaults":            {true, 10 * time.Second, 45 * time.Second, ""},
		"the longest stop":        {true, 31 * time.Second, 45 * time.Second, ""},
		"as long as the grace":    {true, 32 * time.Second, 45 * time.Second, "at most 31s, or raise the fleet's --grace"},
		"a stop of a minute":      {true, time.Minute, 45 * time.Second, "stops it by 1m28s after the last beat (lease 15s, stop 1m0s, kill 10s, margin 3s), which must be before it may start elsewhere, 1m0s after it (lease 15s, grace 45s)"},
		"no stop is short enough": {true, time.Second, 13 * time.Second, ": raise the fleet's --grace"},
		"not strict":              {false, time.Hour, time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			timings := contract.DefaultTimings()
			timings.Grace = c.grace
			err := contract.CheckStrict(v1.Workload{Container: &v1.ContainerSpec{Common: v1.Common{
				Strict: c.strict, StopGracePeriod: v1.Duration(c.stop),
			}}}, timings)
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			var fields v1.FieldErrors
			require.ErrorAs(t, err, &fields)
			require.Equal(t, v1.Path("spec.stopGracePeriod"), fields[0].Path)
			require.Contains(t, fields[0].Message, c.says)
		})
	}
}
