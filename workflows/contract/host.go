package contract

import (
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
)

// Needs is what a workload takes of a host.
type Needs struct {
	Kind   v1.Kind     `json:"kind"`
	Amount v1.Amounts  `json:"amount"`
	Ports  []PortClaim `json:"ports,omitempty"`
	// Devices are reserved exclusively.
	Devices []string `json:"devices,omitempty"`
	// Labels of the workload, and the one of them by which it is kept apart, so that the ledger can check it.
	Labels map[string]string `json:"labels,omitempty"`
	Apart  string            `json:"apart,omitempty"`
	// Strict needs a host with a guard.
	Strict bool `json:"strict,omitempty"`
}

// PortClaim is a port of the host. An empty IP claims the port on all addresses.
type PortClaim struct {
	IP       string `json:"ip,omitempty"`
	Port     int    `json:"port"`
	Protocol string `json:"protocol"`
}

// Held is one workload that a host holds, as it says in hello.
type Held struct {
	Workload string  `json:"workload"`
	Kind     v1.Kind `json:"kind"`
	Fence    int64   `json:"fence"`
	State    string  `json:"state"`
}

// Hello is what an agent says before it polls anything.
type Hello struct {
	Host     string            `json:"host"`
	Fleet    string            `json:"fleet"`
	Instance string            `json:"instance"`
	BootID   string            `json:"bootId"`
	Contract int               `json:"contract"`
	Version  string            `json:"version"`
	Labels   map[string]string `json:"labels,omitempty"`
	Capacity v1.Amounts        `json:"capacity"`
	Runtimes []v1.Runtime      `json:"runtimes"`
	Devices  []string          `json:"devices,omitempty"`
	// DeviceNames are further names of devices that the host gives out, each with the device's first name.
	DeviceNames map[string]string `json:"deviceNames,omitempty"`
	Holds       []Held            `json:"holds,omitempty"`
	// Guard is true if the host's guard runs.
	Guard bool `json:"guard,omitempty"`
}

// Welcome is the answer to hello. A refusal carries Refused and nothing else.
type Welcome struct {
	LeaseNo int64   `json:"lease"`
	Timings Timings `json:"timings"`
	Refused string  `json:"refused,omitempty"`
	// Debts are what the agent must remove before it starts anything: it runs elsewhere, or is wanted no more.
	Debts []Debt `json:"debts,omitempty"`
}

// Debt is something that a host must remove before it takes work again. It applies only where the fence recorded on the
// host is at or below its own.
type Debt struct {
	Workload string `json:"workload"`
	Fence    int64  `json:"fence"`
	// Kind is the workload's: a host that has lost its record of it looks there for what is to go. Empty if it is not known.
	Kind v1.Kind `json:"kind,omitempty"`
	// Volumes says that named volumes are to go too.
	Volumes bool `json:"volumes,omitempty"`
}

// EvictRequest turns a workload's reservation on a host that is away into a debt.
type EvictRequest struct {
	Host string `json:"host"`
	// Instance is the one that the workload was placed on. If the host has another one by now, that machine is gone.
	Instance string `json:"instance"`
	Workload string `json:"workload"`
	Fence    int64  `json:"fence"`
	// Kind and Volumes are as in Debt.
	Kind    v1.Kind `json:"kind,omitempty"`
	Volumes bool    `json:"volumes,omitempty"`
	// Grace, for a strict workload, is how long after the end of the host's lease it may at last be let go: the host has
	// stopped it by then. Zero asks for no such wait.
	Grace time.Duration `json:"grace,omitempty"`
}

// EvictReply says whether the workload may be started elsewhere. A host that is not away refuses.
type EvictReply struct {
	Refused string `json:"refused,omitempty"`
	// Wait, if it is more than nothing, is how long the host may still run it.
	Wait time.Duration `json:"wait,omitempty"`
}

// DebtsPaid tells Host what its agent has removed. It is a signal.
type DebtsPaid struct {
	Paid []Debt `json:"paid"`
}

// HostInput starts a Host workflow, which then waits for the hello that came with it. Later runs also carry their state.
type HostInput struct {
	Timings Timings `json:"timings"`
}

// ReserveRequest asks a host for room. It is keyed by workload and fence: a repeat gets the same answer.
type ReserveRequest struct {
	Workload   string `json:"workload"`
	Fence      int64  `json:"fence"`
	Generation int64  `json:"generation"`
	Needs      Needs  `json:"needs"`
	// Placement is checked by the host as well: its labels may have changed since it was listed.
	Placement *v1.Placement `json:"placement,omitempty"`
	// Instance, if set, is the machine that has what the workload left behind: another one of the same name must not grant.
	Instance string `json:"instance,omitempty"`
	// Passed is true once the queue has been asked who goes before this workload, and Ahead are those: the host grants
	// nothing if it would take one of them.
	Passed bool     `json:"passed,omitempty"`
	Ahead  []Waiter `json:"ahead,omitempty"`
}

// ReserveReply says yes, or what was short.
type ReserveReply struct {
	Granted  bool   `json:"granted"`
	Instance string `json:"instance,omitempty"`
	// Exact is true if the ledger, once the grant is bound, holds just what was asked for: there is nothing to settle.
	Exact bool `json:"exact,omitempty"`
	// Reason and Short say why not: NoCapacity, PortConflict, HostOffline, RuntimeUnavailable, StaleFence, …
	Reason v1.Reason `json:"reason,omitempty"`
	Short  string    `json:"short,omitempty"`
	// Seen is the fence that the host had seen, with ReasonStaleFence.
	Seen int64 `json:"seen,omitempty"`
	// AskAhead is true if others were refused here lately: the queue must be asked before the host grants. Room is what
	// the host has.
	AskAhead bool `json:"askAhead,omitempty"`
	Room     Room `json:"room,omitzero"`
}

// HostChange is what an admin asks of a host. Fields that are not set change nothing.
type HostChange struct {
	// Cordon keeps new work away, or lets it in again. What runs stays.
	Cordon *bool `json:"cordon,omitempty"`
	// DisableRuntimes and EnableRuntimes name runtimes, as docker or libvirt.
	DisableRuntimes []string `json:"disableRuntimes,omitempty"`
	EnableRuntimes  []string `json:"enableRuntimes,omitempty"`
	// Drain cordons the host and empties it. Cordon set to false ends that.
	Drain *v1.DrainRequest `json:"drain,omitempty"`
}

// BindRequest keeps a grant: without it, the grant expires.
type BindRequest struct {
	Host     string `json:"host"`
	Workload string `json:"workload"`
	Fence    int64  `json:"fence"`
}

// SettleRequest sets a reservation to what runs, at the end of an action. It is a signal.
type SettleRequest struct {
	Workload string `json:"workload"`
	Fence    int64  `json:"fence"`
	Needs    Needs  `json:"needs"`
}

// ReleaseRequest gives a reservation back, and leaves a high-water mark: a reserve at or below Fence is refused. It is a
// signal.
type ReleaseRequest struct {
	Workload string `json:"workload"`
	Fence    int64  `json:"fence"`
}

// LeaseLive says that a lease's first beat was acknowledged. It is a signal to Host, from the agent.
type LeaseLive struct {
	LeaseNo int64 `json:"lease"`
}

// LeaseEnded says how a lease ended. It is a signal to Host, from Lease.
type LeaseEnded struct {
	LeaseNo int64 `json:"lease"`
	// Left is true if the agent said goodbye; false if the lease ran out.
	Left    bool   `json:"left"`
	Message string `json:"message,omitempty"`
	// RanOut is true if no beat came for as long as the lease lasts. Else the agent may believe in it for that long.
	RanOut bool `json:"ranOut,omitempty"`
}

// Capability tells Host that a runtime, the guard or a device's name came or went, or that capacity changed. It is a signal, from the agent.
type Capability struct {
	LeaseNo  int64        `json:"lease"`
	Capacity v1.Amounts   `json:"capacity"`
	Runtimes []v1.Runtime `json:"runtimes"`
	// Guard and DeviceNames are as in Hello.
	Guard       bool              `json:"guard,omitempty"`
	DeviceNames map[string]string `json:"deviceNames,omitempty"`
}

// LeaseInput starts a Lease workflow, and is its renew signal.
type LeaseInput struct {
	Host     string  `json:"host"`
	Instance string  `json:"instance"`
	LeaseNo  int64   `json:"lease"`
	Timings  Timings `json:"timings"`
}

// HoldLeaseIn is the input of the activity HoldLease.
type HoldLeaseIn struct {
	Host    string        `json:"host"`
	LeaseNo int64         `json:"lease"`
	Beat    time.Duration `json:"beat"`
	Lease   time.Duration `json:"leaseTime"`
}

// Beat is what HoldLease says with each heartbeat.
type Beat struct {
	LeaseNo int64 `json:"lease"`
	// LongestGap is the longest time between two acknowledged beats of this lease so far.
	LongestGap time.Duration `json:"longestGap,omitempty"`
}

// HoldLeaseOut says why a HoldLease ended by itself.
type HoldLeaseOut struct {
	// Left is true if the agent is going away on purpose.
	Left bool `json:"left"`
}

// HostStatus is the signal host-lost and host-back to a workload. A lower lease number than one seen is ignored.
type HostStatus struct {
	Host    string `json:"host"`
	LeaseNo int64  `json:"lease"`
	// Forgotten is true if an admin gave the host up: it comes back only if it is adopted.
	Forgotten bool `json:"forgotten,omitempty"`
	// Grace is the fleet's least wait before a move. However long a lost host is waited for, the control plane must have been
	// there at the beginning of the last grace: hosts have that long to say that they are well.
	Grace time.Duration `json:"grace,omitempty"`
}
