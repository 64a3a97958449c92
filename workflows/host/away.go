package host

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Evict turns the reservation of a workload into a debt, so that it may start elsewhere: whatever this host still runs of
// it is removed before the host takes work again. It is refused unless the host is away, and put off while the host may still
// run a strict workload. A repeat changes nothing.
func (s *State) Evict(req contract.EvictRequest, now time.Time) contract.EvictReply {
	debt := contract.Debt{Workload: req.Workload, Kind: req.Kind, Fence: req.Fence, Volumes: req.Volumes}
	if s.Instance != req.Instance {
		// Forgotten: nobody is waited for, but if that machine is adopted it still has to pay.
		f, known := s.Former[req.Instance]
		if wait := mayStillRun(f.LeaseOver, req.Grace, now); wait > 0 {
			return contract.EvictReply{Wait: wait}
		}
		if known {
			delete(f.Entries, req.Workload)
			f.Debts = indebted(f.Debts, debt)
			s.Former[req.Instance] = f
		}
		return contract.EvictReply{}
	}
	if s.Phase == v1.HostOnline || s.Phase == v1.HostJoining {
		return contract.EvictReply{Refused: fmt.Sprintf("host %s is %s", s.Name, s.Phase)}
	}
	if wait := mayStillRun(s.LeaseOver, req.Grace, now); wait > 0 {
		return contract.EvictReply{Wait: wait}
	}
	s.Ledger.Release(contract.ReleaseRequest{Workload: req.Workload, Fence: req.Fence}, now)
	s.Debts, s.Changed = indebted(s.Debts, debt), now
	return contract.EvictReply{}
}

// mayStillRun is for how long yet a host whose lease ended may run a strict workload, which it has stopped after the grace.
// What is not strict has none.
func mayStillRun(leaseOver time.Time, grace time.Duration, now time.Time) time.Duration {
	if grace <= 0 {
		return 0
	}
	return max(0, leaseOver.Add(grace).Sub(now))
}

// indebted adds a debt in the place of an earlier one of the same workload. Volumes that had to go still have to.
func indebted(debts []contract.Debt, debt contract.Debt) []contract.Debt {
	return append(slices.DeleteFunc(debts, func(d contract.Debt) bool {
		if d.Workload != debt.Workload {
			return false
		}
		debt.Volumes = debt.Volumes || d.Volumes
		return true
	}), debt)
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
// that it is lost. Another machine may take its name: with clean, the name alone, neither the cordon nor the runtimes that were
// switched off on the machine before it. What is cordoned after this stays cordoned.
func (s *State) Forget(now time.Time, clean bool) error {
	if err := s.checkForget(); err != nil || s.Phase == v1.HostForgotten {
		return err
	}
	s.endDrain()
	remains := append(debtors(s.Debts), sortedKeys(s.Ledger.Entries)...)
	s.Barred = append(s.Barred, s.Instance)
	s.become(v1.HostForgotten, now)
	s.tell(contract.SignalHostLost)
	s.leave()
	if clean {
		s.Cordoned, s.Disabled = false, nil
	}
	s.Changed = now
	s.Message = "forgotten; nothing is known to remain there"
	if len(remains) > 0 {
		slices.Sort(remains)
		s.Message = "forgotten; what may remain there: " + strings.Join(slices.Compact(remains), ", ")
	}
	return nil
}

// Adopt lets forgotten instances of this host in again; see checkAdopt. What they held and owed counts again once they are back.
func (s *State) Adopt(now time.Time) {
	s.Barred, s.Changed = nil, now
	s.sayAdopted()
}

func (s *State) sayAdopted() {
	s.Message = "adopted; start its agent"
	for _, instance := range sortedKeys(s.Former) {
		if s.Former[instance].Cordoned {
			s.Message = "adopted, and cordoned as it was; start its agent"
		}
	}
}

// uncordonFormer lets a machine that is adopted come back without the cordon that it had.
func (s *State) uncordonFormer() {
	for _, instance := range sortedKeys(s.Former) {
		f := s.Former[instance]
		f.Cordoned = false
		s.Former[instance] = f
	}
	if len(s.Barred) == 0 {
		s.sayAdopted()
	}
}

// leave puts aside what the machine holds and owes, and makes room for another one under the host's name.
func (s *State) leave() {
	if s.Former == nil {
		s.Former = map[string]Former{}
	}
	s.Former[s.Instance] = Former{
		Entries: s.Ledger.Entries, Debts: s.Debts, LeaseOver: s.LeaseOver, Cordoned: s.Cordoned, Disabled: s.Disabled,
	}
	s.Instance, s.Ledger.Entries, s.Debts = "", nil, nil
}

// enter gives a machine the host's name, and what it held and owed when it was forgotten, if it was. What it then was kept
// from, it still is.
func (s *State) enter(instance string) {
	f := s.Former[instance]
	delete(s.Former, instance)
	s.Instance, s.Ledger.Entries, s.Debts, s.LeaseOver = instance, f.Entries, f.Debts, f.LeaseOver
	s.Cordoned, s.Disabled = s.Cordoned || f.Cordoned, union(s.Disabled, f.Disabled)
}

func debtors(debts []contract.Debt) []string {
	names := make([]string, 0, len(debts))
	for _, d := range debts {
		names = append(names, d.Workload)
	}
	slices.Sort(names)
	return names
}
