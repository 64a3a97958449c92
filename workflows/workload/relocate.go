package workload

import (
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// stepLeave is the step of a move that removes the old copy before the new one starts.
const stepLeave = "Leave"

// Home is all that the workload knows of one host that it is on: a move takes it along as a whole, and brings it back.
type Home struct {
	// Placement is nil as long as the workload is on no host.
	Placement *Placement `json:"placement,omitempty"`
	// Data are the named volumes and managed disks that the workload has had there, by the names of the spec.
	// DataAt is the fence of the deploy that last had them.
	Data   []string `json:"data,omitempty"`
	DataAt int64    `json:"dataAt,omitempty"`
	// Deployed is the last deploy that succeeded and was not stopped since.
	Deployed *Deployed `json:"deployed,omitempty"`
	// Seen is the latest observation.
	Seen contract.Observation `json:"seen"`
	// HostLost is true between host-lost and host-back. HostLease is the lease of the last such news; older news is ignored.
	HostLost  bool  `json:"hostLost,omitempty"`
	HostLease int64 `json:"hostLease,omitempty"`
	// HostForgotten is true if the lost host was given up by an admin.
	HostForgotten bool `json:"hostForgotten,omitempty"`
	// LostAt is from when a lost host is waited for.
	LostAt time.Time `json:"lostAt,omitzero"`
	// LostGrace is the last stretch of that wait, which begins only while the control plane is there; GraceAt is when it did.
	LostGrace time.Duration `json:"lostGrace,omitempty"`
	GraceAt   time.Time     `json:"graceAt,omitzero"`
	// Drain is set while the host is drained; DrainSeen is the last that was heard of a drain.
	Drain     *Drain    `json:"drain,omitempty"`
	DrainSeen DrainSeen `json:"drainSeen,omitzero"`
}

// Remain is what was left behind on a host that the workload is on no more: the old copy after a move, or what a move that
// failed had made. It is removed there when nothing else is to be done.
type Remain struct {
	Host     string    `json:"host"`
	Instance string    `json:"instance"`
	Tries    int       `json:"tries,omitempty"`
	NextTry  time.Time `json:"nextTry,omitzero"`
	// Away is true if the host's agent is not there: the host owes the removal then.
	Away bool `json:"away,omitempty"`
}

// leaveHome begins a move: what runs on the old host runs on until the replacement is well.
func (s *State) leaveHome(to contract.PlaceOut) {
	from := s.Home
	s.Doing.From = &from
	s.Home = Home{Placement: &Placement{Host: to.Host}}
}

// movingFrom returns what is known of a host if a move away from it is under way.
func (s *State) movingFrom(host string) *Home {
	if s.Doing == nil || s.Doing.From == nil || s.Doing.From.Placement.Host != host {
		return nil
	}
	return s.Doing.From
}

// leaving returns the host from which a move is about to remove the old copy, because that comes before the new one's start. It is
// nil once nothing is left there, and in other moves.
func (s *State) leaving() *Home {
	if s.Doing == nil || !s.Doing.StopFirst {
		return nil
	}
	return s.Doing.From
}

// away reports whether nobody on the host does what it is asked: it is lost, or is drained and its agent has said goodbye.
func (h *Home) away() bool { return h.HostLost || h.Drain != nil && h.Drain.Left }

// drainsInVain reports whether the open action, which a drain asked for, waits for a host that went away: the one that it leaves
// or the one that it goes to. Nobody waits for it: that host owes the removal, and what is wanted goes on elsewhere.
func (s *State) drainsInVain() bool {
	d := s.Doing
	if d.Stays {
		return false
	}
	if from := s.leaving(); from != nil && from.away() {
		return true
	}
	return (d.From != nil || d.Leave) && s.away()
}

// comeHome gives a move up: the old host is the workload's host again.
func (s *State) comeHome(from *Home) {
	s.Home = *from
}

// moved ends a move that succeeded.
func (s *State) moved(d *Doing) {
	if d.From == nil {
		return
	}
	s.remainsAt(*d.From.Placement, d.From.away())
}

// moveFailed ends a move that failed, and says what the new host's ledger must be told.
func (s *State) moveFailed(d *Doing, mutated bool) Ledger {
	tried, away := *s.Placement, s.away()
	s.comeHome(d.From)
	if mutated {
		s.remainsAt(tried, away)
		return Ledger{}
	}
	return Ledger{Host: tried.Host, Release: &contract.ReleaseRequest{Workload: s.Name, Fence: d.Fence}}
}

// LeavesHome notes, during a move, that what runs on the old host is about to be removed.
func (s *State) LeavesHome() { s.Doing.From.Deployed = nil }

// LeftHome notes, during a move, that nothing is left on the old host. It says what that host's ledger must be told.
func (s *State) LeftHome() Ledger {
	from := s.Doing.From
	s.Doing.From, s.Doing.Gone = nil, true
	return Ledger{Host: from.Placement.Host, Release: &contract.ReleaseRequest{Workload: s.Name, Fence: s.Doing.Fence}}
}

func (s *State) remainsAt(p Placement, away bool) {
	s.Remains = append(s.Remains, Remain{Host: p.Host, Instance: p.Instance, Away: away})
}

// decideRemains removes what was left behind, one host at a time.
func (s *State) decideRemains(now time.Time) Step {
	wait := Step{Kind: StepWait}
	for i := range s.Remains {
		r := &s.Remains[i]
		switch {
		case now.Before(r.NextTry):
			wait.Until = earlier(wait.Until, r.NextTry)
		case r.Away || s.Force:
			return Step{Kind: StepEvict, Remain: r.Host}
		default:
			return Step{Kind: StepAct, Action: v1.VerbRemove, Verb: v1.VerbRelocate, Remain: r.Host}
		}
	}
	return wait
}

// decideCleaning watches over the removal of what was left behind: anything else goes before it, and a host that went away is
// not waited for.
func (s *State) decideCleaning(now time.Time) Step {
	step := s.decideIdle(now)
	if r := s.remain(s.Doing.Remain); step.Kind != StepWait || r == nil || r.Away || s.Force {
		return Step{Kind: StepCancel}
	}
	return Step{Kind: StepWait, Until: earlier(step.Until, s.drainDue(now))}
}

// removed notes that a host has nothing left, and says what its ledger must be told.
func (s *State) removed(d *Doing) Ledger {
	s.forgetRemain(d.Remain)
	return Ledger{Host: d.Remain, Release: &contract.ReleaseRequest{Workload: s.Name, Fence: d.Fence}}
}

func (s *State) forgetRemain(host string) {
	kept := s.Remains[:0]
	for _, r := range s.Remains {
		if r.Host != host {
			kept = append(kept, r)
		}
	}
	s.Remains = kept
}

func (s *State) remain(host string) *Remain {
	for i := range s.Remains {
		if s.Remains[i].Host == host {
			return &s.Remains[i]
		}
	}
	return nil
}

// remainFailed puts off the removal of what was left behind.
func (s *State) remainFailed(host string, now time.Time) {
	if r := s.remain(host); r != nil {
		r.Tries++
		r.NextTry = now.Add(backoff(s.Timings, s.Name, r.Tries))
	}
}

// remainEvicted takes the answer of an absent host's ledger.
func (s *State) remainEvicted(host string, reply contract.EvictReply, err error, now time.Time) {
	switch r := s.remain(host); {
	case r == nil:
	case err != nil:
		r.NextTry = now.Add(evictAgain)
	case reply.Refused != "":
		r.Away, s.Force = false, false // it is there after all: an ordinary removal will do
	default:
		s.forgetRemain(host)
	}
}

// actsOn returns the host that an action works on: the workload's own, or one on which something was left behind. While that is
// removed, the workload may be on no host at all.
func (s *State) actsOn(remain string) (host, instance string) {
	if r := s.remain(remain); r != nil {
		return r.Host, r.Instance
	}
	return s.Placement.Host, s.Placement.Instance
}

// earlier returns the earlier of two times, of which zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
