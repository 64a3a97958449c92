package host

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// contendedFor is how long after a refusal newcomers must ask the queue first. Who waits asks again at least every ten
// minutes, and then some.
const contendedFor = 15 * time.Minute

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
	// Guard is true if the host's guard runs, as its agent says.
	Guard bool `json:"guard,omitempty"`

	Phase   v1.HostState `json:"phase"`
	PhaseAt time.Time    `json:"phaseAt,omitzero"`
	Message string       `json:"message,omitempty"`
	// Cordoned is an admin's wish, Incompatible the reason why Berth takes no work here by itself.
	Cordoned     bool   `json:"cordoned,omitempty"`
	Incompatible string `json:"incompatible,omitempty"`
	LeaseNo      int64  `json:"lease"`
	// LeaseOver is when the host itself must have taken its last lease for ended.
	LeaseOver time.Time `json:"leaseOver,omitzero"`
	OnlineAt  time.Time `json:"onlineAt,omitzero"`
	// LastBeat is when a host that is away beat last, at the latest. While a lease is held, its activity knows.
	LastBeat time.Time `json:"lastBeat,omitzero"`
	// Since is when the fleet first heard of the host: what it remembers of the host goes back to then.
	Since   time.Time `json:"since,omitzero"`
	Changed time.Time `json:"changed"`

	Ledger Ledger `json:"ledger"`
	// Debts are what the agent must remove before the host takes work again.
	Debts []contract.Debt `json:"debts,omitempty"`
	// Drain is set from a drain until the host is uncordoned. DrainSeq numbers what workloads are told of it.
	Drain    *Drain `json:"drain,omitempty"`
	DrainSeq int64  `json:"drainSeq,omitempty"`
	// Barred are instances that an admin forgot.
	Barred []string `json:"barred,omitempty"`
	// Former are forgotten instances, with what they held and owed.
	Former map[string]Former `json:"former,omitempty"`
	// Contended is until when the host takes somebody to be in the queue because of it.
	Contended time.Time `json:"contended,omitzero"`
	// Disabled are runtimes that an admin switched off.
	Disabled []string         `json:"disabled,omitempty"`
	Timings  contract.Timings `json:"timings"`

	// outbox is what must be told to others. It is emptied within the same workflow task, so it is never carried over.
	outbox []notice
}

// Former is a machine that an admin forgot.
type Former struct {
	Entries map[string]Entry `json:"entries,omitempty"`
	Debts   []contract.Debt  `json:"debts,omitempty"`
	// LeaseOver, Cordoned and Disabled are as in State.
	LeaseOver time.Time `json:"leaseOver,omitzero"`
	Cordoned  bool      `json:"cordoned,omitempty"`
	Disabled  []string  `json:"disabled,omitempty"`
}

type notice struct {
	to     string
	signal string
	arg    any
	// gone, if set, is called if there is nobody to tell.
	gone func()
}

// Hello admits an agent, or says why not. A repeat by the same instance takes over at once, with the next lease.
func (s *State) Hello(h contract.Hello, now time.Time) (contract.Welcome, bool) {
	if s.Instance != "" && s.Instance != h.Instance {
		return contract.Welcome{Refused: fmt.Sprintf(
			"host %s is known as instance %s; this agent is instance %s. Start the agent with the host's own data directory, "+
				"or choose another host id", h.Host, s.Instance, h.Instance)}, false
	}
	if slices.Contains(s.Barred, h.Instance) {
		return contract.Welcome{Refused: fmt.Sprintf("instance %s of host %s was forgotten; `berth adopt %s` lets it in again",
			h.Instance, h.Host, h.Host)}, false
	}
	if s.Fleet != "" && s.Fleet != h.Fleet {
		return contract.Welcome{Refused: fmt.Sprintf("host %s belongs to fleet %q; this agent says %q", h.Host, s.Fleet, h.Fleet)}, false
	}
	if s.Instance == "" {
		s.enter(h.Instance)
	}
	s.Name, s.Fleet, s.BootID, s.Version = h.Host, h.Fleet, h.BootID, h.Version
	s.Labels, s.Runtimes, s.Devices, s.Guard = h.Labels, h.Runtimes, h.Devices, h.Guard
	s.Ledger.Capacity, s.Ledger.DeviceNames = h.Capacity, h.DeviceNames
	s.LeaseNo++
	if s.Phase != v1.HostOnline {
		s.become(v1.HostJoining, now)
	}
	s.Incompatible, s.Message = "", ""
	if h.Contract != contract.Number {
		s.Incompatible = fmt.Sprintf("the agent speaks contract %d, the control plane %d: upgrade the older one", h.Contract, contract.Number)
	}
	s.Changed = now
	s.offerRoom() // labels and capacity may be others than before
	return contract.Welcome{LeaseNo: s.LeaseNo, Timings: s.Timings, Debts: slices.Clone(s.Debts)}, true
}

// Live makes the host online: the lease's first beat was acknowledged. One that comes after the lease's end, of an agent that
// was held up in between, is no news; see late.
func (s *State) Live(l contract.LeaseLive, now time.Time) {
	if l.LeaseNo != s.LeaseNo || s.Phase == v1.HostOnline {
		return
	}
	s.become(v1.HostOnline, now)
	s.OnlineAt, s.Changed = now, now
	s.tell(contract.SignalHostBack)
	s.retellDrain()
	s.offerRoom()
}

// late reports whether the lease that is said to be live has ended already: it would make a host online that holds none, or that
// was forgotten, and nobody would ever take it offline again.
func (s *State) late(l contract.LeaseLive) bool {
	return l.LeaseNo == s.LeaseNo && (v1.Host{State: s.Phase}).Away()
}

// Ended takes the host offline, or marks it as left. An end of an earlier lease is nothing new.
func (s *State) Ended(l contract.LeaseEnded, now time.Time) {
	if l.LeaseNo != s.LeaseNo || s.Phase != v1.HostOnline && s.Phase != v1.HostJoining {
		return
	}
	s.Changed, s.LeaseOver, s.LastBeat = now, now, now
	if l.RanOut {
		s.LastBeat = now.Add(-s.Timings.Lease)
	} else {
		s.LeaseOver = now.Add(s.Timings.Lease)
	}
	if l.Left {
		s.become(v1.HostLeft, now)
		s.Message = "the agent was stopped; its workloads run on"
		s.retellDrain()
		return
	}
	s.become(v1.HostOffline, now)
	s.Message = l.Message
	s.tell(contract.SignalHostLost)
}

// become takes a state, and notes since when it holds.
func (s *State) become(phase v1.HostState, now time.Time) {
	if s.Phase != phase {
		s.Phase, s.PhaseAt = phase, now
	}
}

// Capability takes what the agent says of its runtimes, its guard and its capacity.
func (s *State) Capability(c contract.Capability, now time.Time) {
	if c.LeaseNo != s.LeaseNo {
		return
	}
	s.Runtimes, s.Guard, s.Ledger.Capacity, s.Changed = c.Runtimes, c.Guard, c.Capacity, now
	s.Ledger.DeviceNames = c.DeviceNames
	s.offerRoom()
}

// Change does what an admin asks: cordon, uncordon, drain, switch a runtime off or on. See checkChange.
func (s *State) Change(c contract.HostChange, now time.Time) {
	if c.Cordon != nil {
		s.Cordoned = *c.Cordon
		if !s.Cordoned {
			s.endDrain()
		}
		if !s.Cordoned && s.Phase == v1.HostForgotten {
			s.uncordonFormer()
		}
	}
	if c.Drain != nil {
		s.startDrain(*c.Drain, now)
	}
	s.Disabled = slices.DeleteFunc(s.Disabled, func(r string) bool { return slices.Contains(c.EnableRuntimes, r) })
	s.Disabled = union(s.Disabled, c.DisableRuntimes)
	slices.Sort(s.Disabled)
	s.Changed = now
	s.offerRoom()
}

// Bind keeps a grant on a host that is online.
func (s *State) Bind(req contract.BindRequest, now time.Time) error {
	if s.Phase != v1.HostOnline {
		return contract.Retryable(v1.ReasonHostOffline, "start the host's agent", "host %s is %s", s.Name, s.Phase)
	}
	if len(s.Debts) > 0 {
		return contract.Retryable(v1.ReasonHostOffline, "nothing to do: it goes on as soon as that is done",
			"host %s first removes %s", s.Name, strings.Join(debtors(s.Debts), ", "))
	}
	if err := s.Ledger.Bind(req.Workload, req.Fence, now); err != nil {
		return err
	}
	s.boundInDrain(req.Workload)
	return nil
}

// Settle and Release pass to the ledger; either may make room.
func (s *State) Settle(req contract.SettleRequest, now time.Time) {
	s.offerIfChanged(now, func() { s.Ledger.Settle(req) })
}

// Release gives a reservation back.
func (s *State) Release(req contract.ReleaseRequest, now time.Time) {
	s.offerIfChanged(now, func() { s.Ledger.Release(req, now) })
}

// Expire drops grants that lapsed, which may make room as well.
func (s *State) Expire(now time.Time) {
	s.offerIfChanged(now, func() { s.Ledger.Expire(now) })
}

// offerIfChanged offers room if somebody waits for it and what is held has changed: a workload that was refused settles on
// what it held before, and must not wake itself by that.
func (s *State) offerIfChanged(now time.Time, change func()) {
	if !now.Before(s.Contended) {
		change()
		return
	}
	before := s.Ledger.held()
	change()
	if !reflect.DeepEqual(before, s.Ledger.held()) {
		s.offerRoom()
	}
}

// tell sends a signal to every workload that holds something here.
func (s *State) tell(signal string) {
	status := contract.HostStatus{Host: s.Name, LeaseNo: s.LeaseNo, Forgotten: s.Phase == v1.HostForgotten}
	if signal == contract.SignalHostLost {
		status.Grace = s.Timings.Grace
	}
	for _, name := range sortedKeys(s.Ledger.Entries) {
		s.outbox = append(s.outbox, notice{to: contract.WorkloadID(name), signal: signal, arg: status})
	}
}

// offerRoom tells the queue what the host has, if it takes work. A queue that does not run has nobody in it.
func (s *State) offerRoom() {
	if s.Phase != v1.HostOnline || s.Cordoned || s.Incompatible != "" {
		return
	}
	for i := range s.outbox {
		if s.outbox[i].signal == contract.SignalRoom {
			s.outbox[i].arg = s.room() // once a task is enough, with what holds in the end
			return
		}
	}
	s.outbox = append(s.outbox, notice{to: contract.QueueID, signal: contract.SignalRoom, arg: s.room()})
}

func (s *State) room() contract.Room {
	r := contract.Room{Host: s.Name, Free: s.Ledger.free(), Labels: s.Labels, Guard: s.Guard}
	for _, rt := range s.Runtimes {
		if rt.Ready && !slices.Contains(s.Disabled, rt.Name) {
			r.Kinds = append(r.Kinds, rt.Kinds...)
		}
	}
	return r
}

// View is the host as users see it.
func (s *State) View() v1.Host {
	h := v1.Host{
		Name: s.Name, State: s.Phase, Message: s.Message, Cordoned: s.Cordoned || s.Incompatible != "", Drain: s.drainView(), Labels: s.Labels,
		Capacity: s.Ledger.Capacity, Reserved: s.Ledger.Reserved(), Workloads: len(s.Ledger.Entries),
		Debts: debtors(s.Debts), Guard: s.Guard, Instance: s.Instance, Version: s.Version, LeaseNo: s.LeaseNo, LastChange: s.Changed,
	}
	if s.Incompatible != "" {
		h.Message = s.Incompatible
	}
	h.Runtimes = slices.Clone(s.Runtimes)
	for i, r := range h.Runtimes {
		if slices.Contains(s.Disabled, r.Name) {
			h.Runtimes[i].Ready, h.Runtimes[i].Message = false, "switched off by an admin"
		}
	}
	if !s.PhaseAt.IsZero() {
		at := s.PhaseAt
		h.StateSince = &at
	}
	if !s.OnlineAt.IsZero() {
		at := s.OnlineAt
		h.OnlineAt = &at
	}
	if away := s.Phase != v1.HostOnline && s.Phase != v1.HostJoining; away && !s.LastBeat.IsZero() {
		at := s.LastBeat
		h.LastBeat = &at
	}
	return h
}
