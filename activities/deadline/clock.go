package deadline

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-dev/berth/activities/boot"
)

// Now is the time since boot, suspend included. A deadline on it means the same after the machine slept, never jumps with
// the wall clock, and is read alike by all processes of the machine.
func Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("CLOCK_BOOTTIME is not there: " + err.Error()) // Linux has it since 2.6.39
	}
	return time.Duration(ts.Nano())
}

// BootID names this boot of the machine, to which all that is written here belongs.
func BootID() string { return boot.Read(boot.ProcFS).ID }
