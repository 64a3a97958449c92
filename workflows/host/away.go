package host

import (
	"fmt"
	"slices"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Evict turns the reservation of a workload into a debt, so that it may start elsewhere: whatever this host still runs of
// it is removed before the host takes work again. It is refused unless the host is away. A repeat changes nothing.
func (s *State) Evict(req contract.EvictRequest, now time.Time) contract.EvictReply {
	sameMachine := s.Instance == req.Instance
	if sameMachine && (s.Phase == v1.HostOnline || s.Phase == v1.HostJoining) {
		return contract.EvictReply{Refused: fmt.Sprintf("host %s is %s", s.Name, s.Phase)}
	}
	s.Ledger.Release(contract.ReleaseRequest{Workload: req.Workload, Fence: req.Fence}, now)
	if !sameMachine {
		return contract.EvictReply{} // forgotten: nobody will come back to pay
	}
	s.Debts = slices.DeleteFunc(s.Debts, func(d contract.Debt) bool { return d.Workload == req.Workload })
	s.Debts = append(s.Debts, contract.Debt{Workload: req.Workload, Fence: req.Fence, Volumes: req.Volumes})
	s.Changed = now
	return contract.EvictReply{}
}

// Paid drops debts that the agent has paid.
func (s *State) Paid(p contract.DebtsPaid, now time.Time) {
	s.Debts = slices.DeleteFunc(s.Debts, func(d contract.Debt) bool {
		return slices.ContainsFunc(p.Paid, func(paid contract.Debt) bool { return paid.Workload == d.Workload && paid.Fence >= d.Fence })
	})
	s.Changed = now
	s.offerRoom()
}

// Forget gives a host up that will not come back: its debts are dropped, its instance is barred, and its workloads are told
// that it is lost. Another machine may take its name.
func (s *State) Forget(now time.Time) error {
	switch s.Phase {
	case v1.HostOnline, v1.HostJoining:
		return contract.Permanent(v1.ReasonInvalid, "stop its agent first, or cordon it", "host %s is %s", s.Name, s.Phase)
	case v1.HostForgotten:
		return nil
	case v1.HostOffline, v1.HostLeft:
	}
	s.endDrain()
	s.tell(contract.SignalHostLost)
	remains := append(debtors(s.Debts), sortedKeys(s.Ledger.Entries)...)
	s.Barred = append(s.Barred, s.Instance)
	s.Instance, s.Debts, s.Phase, s.Changed = "", nil, v1.HostForgotten, now
	s.Message = "forgotten; nothing is known to remain there"
	if len(remains) > 0 {
		slices.Sort(remains)
		s.Message = fmt.Sprintf("forgotten; what may remain there: %v", slices.Compact(remains))
	}
	return nil
}

// Adopt lets forgotten instances of this host in again.
func (s *State) Adopt(now time.Time) {
	s.Barred, s.Changed = nil, now
}

func debtors(debts []contract.Debt) []string {
	names := make([]string, 0, len(debts))
	for _, d := range debts {
		names = append(names, d.Workload)
	}
	slices.Sort(names)
	return names
}
