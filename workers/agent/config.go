// Package agent is the agent of one host: it polls the host's own queues, holds its lease, and watches over what runs.
package agent

import (
	"time"

	"github.com/berth-dev/berth/activities/synthetic"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Config says who the host is and what it may give.
type Config struct {
	// Host is the host's id in the fleet, Fleet the installation's.
	Host  string
	Fleet string
	// DataDir holds all that the agent keeps. It belongs to this agent alone.
	DataDir string
	// RunDir holds what agent and guard tell each other: on tmpfs, shared by all agents of the machine.
	RunDir  string
	Version string
	Labels  map[string]string
	// Capacity overrides what is read from the machine, field by field where it is not zero.
	Capacity v1.Amounts
	// AllowPaths are the prefixes of the host's paths that workloads may use, AllowDevices its devices. Nothing else is.
	AllowPaths   []string
	AllowDevices []string
	// MaxConcurrentCreates bounds fetches and disk copies at a time. Default 4.
	MaxConcurrentCreates int
	// DockerHost and LibvirtURI say where the runtimes are. Empty means their defaults.
	DockerHost string
	LibvirtURI string
	// DomainType is kvm or qemu. Empty chooses by what the machine can do.
	DomainType string
	// ProcFS is where the machine's proc filesystem is: it tells one boot from another. Default boot.ProcFS.
	ProcFS string
	// StallTimeout is how long a fetch may make no progress. Default 60 s.
	StallTimeout time.Duration
	// KeepImages is how long a cached image stays that nothing on the host uses. Zero means for ever.
	KeepImages time.Duration
	// Synthetic, if set, runs everything in memory, in the place of Docker and libvirt. The host's records are then written
	// without waiting for the disk.
	Synthetic *synthetic.Config
	// Timings are offered to the fleet if this host is its first to speak.
	Timings contract.Timings
}
