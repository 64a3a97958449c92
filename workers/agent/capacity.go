package agent

import (
	"runtime"

	"golang.org/x/sys/unix"

	v1 "github.com/berth-dev/berth/api/v1"
)

// The share of the machine that is kept for the system and the agent itself: a tenth of memory, at most 2 GiB; and a tenth
// of the disk.
const (
	systemShare     = 10
	systemMemoryMax = 2 << 30
)

// capacity reads what the machine has to give, less a reserve for the system. Fields set in override win.
func capacity(dataDir string, override v1.Amounts) v1.Amounts {
	c := v1.Amounts{CPUs: v1.MilliCPU(runtime.NumCPU() * 1000)}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		total := int64(info.Totalram) * int64(info.Unit) //nolint:gosec // no machine has 8 EiB of memory
		c.Memory = v1.Bytes(total - min(total/systemShare, systemMemoryMax))
	}
	var fs unix.Statfs_t
	if unix.Statfs(dataDir, &fs) == nil {
		total := int64(fs.Blocks) * fs.Bsize //nolint:gosec // file systems are smaller than 8 EiB
		c.Disk = v1.Bytes(total - total/systemShare)
	}
	if override.CPUs != 0 {
		c.CPUs = override.CPUs
	}
	if override.Memory != 0 {
		c.Memory = override.Memory
	}
	if override.Disk != 0 {
		c.Disk = override.Disk
	}
	return c
}
