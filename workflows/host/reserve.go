package host

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Reserve asks the ledger, if the host takes such work at all. Where others were refused lately a newcomer is told to ask the
// queue before it is granted anything, and is granted nothing if the host would take one of those that go before it.
func (s *State) Reserve(req contract.ReserveRequest, now time.Time) contract.ReserveReply {
	s.Expire(now)
	reply := s.reserve(req, now)
	reply.Instance = s.Instance
	if !reply.Granted && !reply.AskAhead && reply.Reason != v1.ReasonStaleFence {
		s.Contended = now.Add(contendedFor)
	}
	return reply
}

func (s *State) reserve(req contract.ReserveRequest, now time.Time) contract.ReserveReply {
	if reason, why := s.unfit(req); reason != v1.ReasonNone {
		return contract.ReserveReply{Reason: reason, Short: why}
	}
	_, holds := s.Ledger.Entries[req.Workload]
	if now.Before(s.Contended) && !holds && s.Ledger.would(req) {
		if !req.Passed {
			return contract.ReserveReply{AskAhead: true, Room: s.room()}
		}
		if first := s.firstTaken(req.Ahead); first != "" {
			return contract.ReserveReply{Reason: v1.ReasonNoCapacity, Short: "queued behind " + first}
		}
	}
	return s.Ledger.Reserve(req, now, s.Timings.Grant)
}

// Would says what Reserve would answer if nobody waited, and changes nothing.
func (s *State) Would(req contract.ReserveRequest) contract.ReserveReply {
	reason, why := s.unfit(req)
	if reason == v1.ReasonNone {
		reason, why = s.Ledger.short(req.Workload, req.Needs)
	}
	return contract.ReserveReply{Granted: reason == v1.ReasonNone, Instance: s.Instance, Reason: reason, Short: why}
}

// firstTaken names the first of those who wait that the host would take now, if it would take any.
func (s *State) firstTaken(waiters []contract.Waiter) string {
	for _, w := range waiters {
		req := w.Request()
		if reason, _ := s.unfit(req); reason == v1.ReasonNone && s.Ledger.would(req) {
			return w.Workload
		}
	}
	return ""
}

// unfit says why the host does not take a workload whatever room it has.
func (s *State) unfit(req contract.ReserveRequest) (v1.Reason, string) {
	_, holds := s.Ledger.Entries[req.Workload]
	switch {
	case s.Phase != v1.HostOnline:
		return v1.ReasonHostOffline, fmt.Sprintf("the host is %s", s.Phase)
	case req.Instance != "" && req.Instance != s.Instance:
		return v1.ReasonHostLost, fmt.Sprintf("the machine that had this name when %s was placed was forgotten; another one has it now", req.Workload)
	case s.Incompatible != "":
		return v1.ReasonNoMatchingHost, s.Incompatible
	case len(s.Debts) > 0:
		return v1.ReasonHostOffline, "it first removes " + strings.Join(debtors(s.Debts), ", ")
	case s.Cordoned && (!holds || req.Instance == ""): // a move that failed may have left something: no reason to come back
		return v1.ReasonNoMatchingHost, "the host is cordoned"
	}
	if why := req.Placement.Refuses(s.Name, s.Labels); why != "" {
		return v1.ReasonNoMatchingHost, why
	}
	if req.Needs.Strict && !s.Guard {
		return v1.ReasonNoMatchingHost, contract.NoGuard
	}
	if ok, why := s.runs(req.Needs.Kind); !ok {
		return v1.ReasonRuntimeUnavailable, why
	}
	return v1.ReasonNone, ""
}

func (s *State) runs(kind v1.Kind) (bool, string) {
	for _, r := range s.Runtimes {
		if !slices.Contains(r.Kinds, kind) {
			continue
		}
		if slices.Contains(s.Disabled, r.Name) {
			return false, r.Name + " was switched off by an admin"
		}
		if r.Ready {
			return true, ""
		}
		return false, fmt.Sprintf("%s is not ready: %s", r.Name, r.Message)
	}
	return false, fmt.Sprintf("the host has no runtime for kind %s", kind)
}
