// Package lease keeps a host's place in the fleet: it says hello, holds the lease, and knows until when the host may
// believe that it is still a member.
package lease

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootTime is the time since boot, suspend included. A deadline on it means the same after the machine slept, and never
// jumps with the wall clock.
func bootTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("CLOCK_BOOTTIME is not there: " + err.Error()) // Linux has it since 2.6.39
	}
	return time.Duration(ts.Nano())
}
