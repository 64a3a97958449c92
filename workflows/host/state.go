package host

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// maxWaiting bounds how many refused workloads a host remembers to wake; the rest come back by their own backoff.
const maxWaiting = 500

// State is all that a Host carries from run to run.
type State struct {
	Name     string            `json:"name"`
	Fleet    string            `json:"fleet"`
	Instance string            `json:"instance"`
	BootID   string            `json:"bootId"`
	Version  string            `json:"version"`
	Labels   map[string]string `json:"labels,omitempty"`
	Runtimes []v1.Runtime      `json:"runtimes,omitempty"`
	Devices  []string          `json:"devices,omitempty"`

	Phase    v1.HostState `json:"phase"`
	Message  string       `json:"message,omitempty"`
	Cordoned bool         `json:"cordoned,omitempty"`
	LeaseNo  int64        `json:"lease"`
	OnlineAt time.Time    `json:"onlineAt,omitzero"`
	Changed  time.Time    `json:"changed"`

	Ledger Ledger `json:"ledger"`
	// Debts are what the agent must remove before the host takes work again.
	Debts []Debt `json:"debts,omitempty"`
	// Waiting are workloads that were refused for want of room or of a runtime; they are woken when that may have changed.
	Waiting []string         `json:"waiting,omitempty"`
	Timings contract.Timings `json:"timings"`

	// outbox is what must be told to others. It is emptied within the same workflow task, so it is never carried over.
	outbox []notice
}

// Debt is something that the host must remove before it takes work again.
type Debt struct {
	Workload string `json:"workload"`
	Fence    int64  `json:"fence"`
}

type notice struct {
	workload string
	signal   string
}

// Hello admits an agent, or says why not. A repeat by the same instance takes over at once, with the next lease.
func (s *State) Hello(h contract.Hello, now time.Time) (contract.Welcome, bool) {
	if s.Instance != "" && s.Instance != h.Instance {
		return contract.Welcome{Refused: fmt.Sprintf(
			"host %s is known as instance %s; this agent is instance %s. Start the agent with the host's own data directory, "+
				"or choose another host id", h.Host, s.Instance, h.Instance)}, false
	}
	if s.Fleet != "" && s.Fleet != h.Fleet {
		return contract.Welcome{Refused: fmt.Sprintf("host %s belongs to fleet %q; this agent says %q", h.Host, s.Fleet, h.Fleet)}, false
	}
	s.Name, s.Fleet, s.Instance, s.BootID, s.Version = h.Host, h.Fleet, h.Instance, h.BootID, h.Version
	s.Labels, s.Runtimes, s.Devices = h.Labels, h.Runtimes, h.Devices
	s.Ledger.Capacity = h.Capacity
	s.LeaseNo++
	if s.Phase != v1.HostOnline {
		s.Phase = v1.HostJoining
	}
	s.Cordoned, s.Message = false, ""
	if h.Contract != contract.Number {
		s.Cordoned = true
		s.Message = fmt.Sprintf("the agent speaks contract %d, the control plane %d: upgrade the older one", h.Contract, contract.Number)
	}
	s.Changed = now
	return contract.Welcome{LeaseNo: s.LeaseNo, Timings: s.Timings}, true
}

// Live makes the host online: the lease's first beat was acknowledged.
func (s *State) Live(l contract.LeaseLive, now time.Time) {
	if l.LeaseNo != s.LeaseNo || s.Phase == v1.HostOnline {
		return
	}
	s.Phase, s.OnlineAt, s.Changed = v1.HostOnline, now, now
	s.tell(contract.SignalHostBack)
	s.wake()
}

// Ended takes the host offline, or marks it as left. An end of an earlier lease is nothing new.
func (s *State) Ended(l contract.LeaseEnded, now time.Time) {
	if l.LeaseNo != s.LeaseNo || s.Phase == v1.HostOffline || s.Phase == v1.HostLeft {
		return
	}
	s.Changed = now
	if l.Left {
		s.Phase, s.Message = v1.HostLeft, "the agent was stopped; its workloads run on"
		return
	}
	s.Phase, s.Message = v1.HostOffline, l.Message
	s.tell(contract.SignalHostLost)
}

// Capability takes what the agent says of its runtimes and its capacity.
func (s *State) Capability(c contract.Capability, now time.Time) {
	if c.LeaseNo != s.LeaseNo {
		return
	}
	s.Runtimes, s.Ledger.Capacity, s.Changed = c.Runtimes, c.Capacity, now
	s.wake()
}

// Reserve asks the ledger, if the host takes work of this kind at all. Who is refused is remembered, to be woken.
func (s *State) Reserve(req contract.ReserveRequest, now time.Time) contract.ReserveReply {
	s.Expire(now)
	reply := s.reserve(req, now)
	reply.Instance = s.Instance
	if !reply.Granted && reply.Reason != v1.ReasonStaleFence && !slices.Contains(s.Waiting, req.Workload) && len(s.Waiting) < maxWaiting {
		s.Waiting = append(s.Waiting, req.Workload)
	}
	return reply
}

func (s *State) reserve(req contract.ReserveRequest, now time.Time) contract.ReserveReply {
	switch {
	case s.Phase != v1.HostOnline:
		return contract.ReserveReply{Reason: v1.ReasonHostOffline, Short: fmt.Sprintf("the host is %s", s.Phase)}
	case s.Cordoned:
		return contract.ReserveReply{Reason: v1.ReasonNoMatchingHost, Short: "the host is cordoned: " + s.Message}
	}
	if ok, why := s.runs(req.Needs.Kind); !ok {
		return contract.ReserveReply{Reason: v1.ReasonRuntimeUnavailable, Short: why}
	}
	return s.Ledger.Reserve(req, now, s.Timings.Grant)
}

// Bind keeps a grant on a host that is online.
func (s *State) Bind(req contract.BindRequest, now time.Time) error {
	if s.Phase != v1.HostOnline {
		return contract.Retryable(v1.ReasonHostOffline, "start the host's agent", "host %s is %s", s.Name, s.Phase)
	}
	return s.Ledger.Bind(req.Workload, req.Fence, now)
}

// Settle and Release pass to the ledger; either may make room.
func (s *State) Settle(req contract.SettleRequest) {
	s.wakeIfChanged(func() { s.Ledger.Settle(req) })
}

// Release gives a reservation back.
func (s *State) Release(req contract.ReleaseRequest, now time.Time) {
	s.wakeIfChanged(func() { s.Ledger.Release(req, now) })
}

// Expire drops grants that lapsed, which may make room as well.
func (s *State) Expire(now time.Time) {
	s.wakeIfChanged(func() { s.Ledger.Expire(now) })
}

// wakeIfChanged wakes who waits for room only if what is held has changed: a workload that was refused settles on what it
// held before, and must not wake itself by that.
func (s *State) wakeIfChanged(change func()) {
	before := s.Ledger.held()
	change()
	if !reflect.DeepEqual(before, s.Ledger.held()) {
		s.wake()
	}
}

func (s *State) runs(kind v1.Kind) (bool, string) {
	for _, r := range s.Runtimes {
		if !slices.Contains(r.Kinds, kind) {
			continue
		}
		if r.Ready {
			return true, ""
		}
		return false, fmt.Sprintf("%s is not ready: %s", r.Name, r.Message)
	}
	return false, fmt.Sprintf("the host has no runtime for kind %s", kind)
}

// tell sends a signal to every workload that holds something here.
func (s *State) tell(signal string) {
	for _, name := range sortedKeys(s.Ledger.Entries) {
		s.outbox = append(s.outbox, notice{workload: name, signal: signal})
	}
}

func (s *State) wake() {
	for _, name := range s.Waiting {
		s.outbox = append(s.outbox, notice{workload: name, signal: contract.SignalWake})
	}
	s.Waiting = nil
}

// View is the host as users see it.
func (s *State) View() v1.Host {
	h := v1.Host{
		Name: s.Name, State: s.Phase, Message: s.Message, Cordoned: s.Cordoned, Labels: s.Labels,
		Capacity: s.Ledger.Capacity, Reserved: s.Ledger.Reserved(), Workloads: len(s.Ledger.Entries),
		Runtimes: s.Runtimes, Instance: s.Instance, Version: s.Version, LeaseNo: s.LeaseNo, LastChange: s.Changed,
	}
	if !s.OnlineAt.IsZero() {
		at := s.OnlineAt
		h.OnlineAt = &at
	}
	return h
}
