package harness

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pauseMax is the longest pause of a wait: some conditions hold for a second only.
const pauseMax = 250 * time.Millisecond

// Eventually waits until a condition holds, and fails the test if that takes longer than within. Unlike testify's, it looks
// in the test's own goroutine: a condition may itself fail the test, and none is under way when the test has ended. It looks
// every so often at first, and more seldom the longer it has waited.
func Eventually(t testing.TB, condition func() bool, within, every time.Duration, msgAndArgs ...any) {
	t.Helper()
	if !holds(condition, within, every) {
		require.Fail(t, "the condition does not hold after "+within.String(), msgAndArgs...)
	}
}

// holds reports whether a condition comes to hold within a time. Each look takes from the machine what is tested needs: a long
// wait looks seldom, and is late by a tenth.
func holds(condition func() bool, within, every time.Duration) bool {
	for begin := time.Now(); !condition(); {
		waited := time.Since(begin)
		if waited > within {
			return false
		}
		<-time.After(max(every, min(waited/10, pauseMax)))
	}
	return true
}
