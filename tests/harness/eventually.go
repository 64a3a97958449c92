package harness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Eventually waits until a condition holds, and fails the test if that takes longer than within. Unlike testify's, it looks
// in the test's own goroutine: a condition may itself fail the test, and none is under way when the test has ended.
func Eventually(t testing.TB, condition func() bool, within, every time.Duration, msgAndArgs ...any) {
	t.Helper()
	deadline := time.Now().Add(within)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !condition() {
		if time.Now().After(deadline) {
			require.Fail(t, "the condition does not hold after "+within.String(), msgAndArgs...)
		}
		<-tick.C
	}
}
