//go:build load

package load_test

import (
	"time"

	"github.com/stretchr/testify/require"

	api "github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
)

// sweep measures a sweep over all that runs, which must find it in order.
func (l *load) sweep(count int) {
	l.t.Helper()
	c := l.Client()
	var s v1.Sweep
	var err error
	require.Eventually(l.t, func() bool { // a scheduled one may be under way
		s, err = c.StartSweep(l.t.Context(), v1.SweepRequest{}, api.Change{})
		return err == nil
	}, time.Minute, 100*time.Millisecond)
	begin := time.Now()
	require.Eventually(l.t, func() bool {
		s, err = c.Sweep(l.t.Context(), s.ID, 1, "")
		return err == nil && s.State != v1.SweepRunning
	}, 10*time.Minute, 100*time.Millisecond)
	took := time.Since(begin)
	require.Equal(l.t, v1.SweepSucceeded, s.State, s.Message)
	require.GreaterOrEqual(l.t, s.Summary.SkippedLive, 2*count, "what runs, and its records")
	require.Zero(l.t, s.Summary.Orphaned+s.Summary.Unexplained+s.Summary.Repaired+s.Summary.Unreachable, s.Summary)
	l.t.Logf("sweep: %d things on %d hosts in %v", s.Summary.SkippedLive, s.Summary.Hosts, took.Round(10*time.Millisecond))
}
