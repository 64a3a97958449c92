package v1

import "time"

// Limits of every workload. A spec travels in one message and stays in the state of its workflow, so all of it is bounded.
const (
	// MaxWorkloadBytes is the size of the largest workload, as JSON with its defaults filled in.
	MaxWorkloadBytes = 128 << 10
	// MaxNameLength is that of a DNS label.
	MaxNameLength = 63
	// MaxPathLength bounds paths on a host or in a container, in bytes.
	MaxPathLength = 1024

	// MaxPlacementHosts bounds the hosts that a spec names, MaxPriority its priority in both directions.
	MaxPlacementHosts = 100
	MaxMoveAfter      = Duration(30 * 24 * time.Hour)
	MaxPriority       = 1000
	// MaxLabels and the next two bound the user's labels, which are kept beside the status, where lists are read from.
	MaxLabels          = 32
	MaxLabelLength     = 63
	MaxLabelTotalBytes = 1024

	MaxStopGracePeriod = Duration(time.Hour)
	MaxJobAttempts     = 100
	MinJobDeadline     = Duration(time.Second)
	MaxJobDeadline     = Duration(366 * 24 * time.Hour)
	// MaxRestartRetries bounds the restart policy's maxRetries.
	MaxRestartRetries = 10000

	// MaxMemory is far above any machine; it keeps sums of many far from overflow.
	MaxMemory = Bytes(64 << 40)
)

// Limits of a container.
const (
	// MaxArguments and MaxArgumentBytes bound each of command, args and healthCheck.command.
	MaxArguments     = 256
	MaxArgumentBytes = 32 << 10
	// MaxEnvBytes and MaxContainerLabelBytes bound all keys and values together.
	MaxEnv                 = 256
	MaxEnvBytes            = 64 << 10
	MaxContainerLabels     = 64
	MaxContainerLabelBytes = 8 << 10

	MaxPorts   = 128
	MaxMounts  = 64
	MaxDevices = 64

	// MinContainerMemory is Docker's own minimum.
	MinContainerMemory = Bytes(6 << 20)
	// UnlimitedMemorySwap is the memorySwap that bounds nothing.
	UnlimitedMemorySwap = Bytes(-1)
	// MinCPUs is the kernel's own minimum: 1 ms of each 100 ms.
	MinCPUs = MilliCPU(10)
	MaxCPUs = MilliCPU(1024 * 1000)
	// MaxPids is the kernel's own maximum.
	MaxPids = 1 << 22

	// MinCheckDuration and MaxCheckDuration bound each duration of a health check.
	MinCheckDuration = Duration(100 * time.Millisecond)
	MaxCheckDuration = Duration(24 * time.Hour)
	MaxCheckRetries  = 100
)

// Limits of a virtual machine.
const (
	// MaxVCPUs is what QEMU's machine types run without further settings.
	MaxVCPUs    = 255
	MinVMMemory = Bytes(16 << 20)

	MaxDisks     = 16
	MinDiskSize  = Bytes(1 << 20)
	MaxDiskSize  = Bytes(64 << 40)
	MaxURLLength = 2048
	MaxNetworks  = 8

	// MaxCloudInitBytes bounds the four texts together.
	MaxCloudInitBytes = 64 << 10
	// MaxVMMetadataBytes bounds all keys and values together.
	MaxVMMetadata      = 32
	MaxVMMetadataBytes = 8 << 10

	MinBootTimeout = Duration(time.Second)
	MaxBootTimeout = Duration(24 * time.Hour)
	// MaxReadinessLine is in bytes.
	MaxReadinessLine = 256
)
