package v1

import "time"

// HostState is where a host stands.
type HostState string

// The states of a host. Left means that its agent said goodbye; its workloads run on.
const (
	HostJoining HostState = "Joining"
	HostOnline  HostState = "Online"
	HostOffline HostState = "Offline"
	HostLeft    HostState = "Left"
	// HostForgotten is a host that an admin gave up: its agent is refused until it is adopted.
	HostForgotten HostState = "Forgotten"
)

// Amounts is a quantity of what a host has to give.
type Amounts struct {
	CPUs   MilliCPU `json:"cpus"`
	Memory Bytes    `json:"memory"`
	Disk   Bytes    `json:"disk"`
}

// Runtime is something on a host that runs workloads of one kind.
type Runtime struct {
	// Name is docker or libvirt.
	Name string `json:"name"`
	// Kinds are the kinds of workload that it runs.
	Kinds   []Kind `json:"kinds"`
	Version string `json:"version,omitempty"`
	Ready   bool   `json:"ready"`
	// Message says why it is not ready, or what was chosen and why.
	Message string `json:"message,omitempty"`
}

// Host is a host as lists show it. It lives in the memo of the host's workflow.
type Host struct {
	Name  string    `json:"name"`
	State HostState `json:"state"`
	// StateSince is when it came into its state; missing if nobody noted that.
	StateSince *time.Time `json:"stateSince,omitempty"`
	Reason     Reason     `json:"reason,omitempty"`
	Message    string     `json:"message,omitempty"`
	Cordoned   bool       `json:"cordoned,omitempty"`
	// Drain is set from a drain until the host is uncordoned.
	Drain  *Drain            `json:"drain,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	// Capacity, Guard, Runtimes and Version are what the agent said last: of a host that is away, not later than LastBeat.
	Capacity Amounts `json:"capacity"`
	Reserved Amounts `json:"reserved"`
	// Free is what it can give now of what it has not given out: nothing unless it is Online. Whether it does is for its cordon
	// and its debts to say. It is worked out when the host is shown.
	Free      *Amounts `json:"free,omitempty"`
	Workloads int      `json:"workloads"`
	// Debts are workloads that the host must remove before it takes work again: they run elsewhere, or were removed by force.
	Debts []string `json:"debts,omitempty"`
	// Guard is true if the host's guard runs. Without one the host takes nothing strict.
	Guard    bool       `json:"guard"`
	Runtimes []Runtime  `json:"runtimes,omitempty"`
	Instance string     `json:"instance"`
	Version  string     `json:"version,omitempty"`
	LeaseNo  int64      `json:"lease"`
	OnlineAt *time.Time `json:"onlineAt,omitempty"`
	// LastBeat is when the agent renewed its lease last; of a host that is away, at the latest.
	LastBeat *time.Time `json:"lastBeat,omitempty"`
	// LongestGap is the longest time between two beats of the current lease, while it is held.
	LongestGap Duration `json:"longestGap,omitempty"`
	// LastChange is when anything of it changed last that is no beat: its state, a cordon, what it owes.
	LastChange time.Time `json:"lastChange"`
}

// FreeNow is what a host can give now: what it has not given out if it is Online, else nothing. It is negative where the
// capacity has shrunk since.
func (h Host) FreeNow() Amounts {
	if h.State != HostOnline {
		return Amounts{}
	}
	return Amounts{
		CPUs: h.Capacity.CPUs - h.Reserved.CPUs, Memory: h.Capacity.Memory - h.Reserved.Memory, Disk: h.Capacity.Disk - h.Reserved.Disk,
	}
}

// Away reports whether nobody is there to say how the host is: what it shows is what was known last.
func (h Host) Away() bool { return h.State != HostOnline && h.State != HostJoining }
