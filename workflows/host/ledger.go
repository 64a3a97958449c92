// Package host is the Host entity and its Lease: who may work on a machine, what the machine has to give, and who has it.
package host

import (
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// MarkLife is how long a release's high-water mark is kept, so that a reserve that lands after it is refused.
const MarkLife = time.Hour

// Ledger is the one truth about what a host has given away. It is a value without behaviour of its own over time: every
// method takes the time and is deterministic.
type Ledger struct {
	Capacity v1.Amounts       `json:"capacity"`
	Entries  map[string]Entry `json:"entries,omitempty"`
	Marks    map[string]Mark  `json:"marks,omitempty"`
	// DeviceNames are further names of devices, as the host says, each with the device's first name.
	DeviceNames map[string]string `json:"deviceNames,omitempty"`
}

// Entry is one workload's reservation.
type Entry struct {
	Fence      int64 `json:"fence"`
	Generation int64 `json:"generation"`
	// Bound is false for a grant that lapses at Expires.
	Bound   bool      `json:"bound"`
	Expires time.Time `json:"expires,omitzero"`
	// Needs is what the current action asked for. Old, if set, is what ran before it: until the action settles, the
	// ledger holds the maximum of both.
	Needs contract.Needs `json:"needs"`
	Old   *Previous      `json:"old,omitempty"`
}

// Previous is what a workload held before the open action, and falls back to if its grant lapses.
type Previous struct {
	Fence      int64          `json:"fence"`
	Generation int64          `json:"generation"`
	Needs      contract.Needs `json:"needs"`
}

// Mark is the fence at or below which a reserve is refused.
type Mark struct {
	Fence int64     `json:"fence"`
	At    time.Time `json:"at"`
}

// Reserve grants room, or says what is short. It is idempotent by workload and fence.
func (l *Ledger) Reserve(req contract.ReserveRequest, now time.Time, grant time.Duration) contract.ReserveReply {
	l.Expire(now)
	if seen := l.seen(req); seen > 0 {
		return stale(req.Fence, seen)
	}
	own, held := l.Entries[req.Workload]
	if held && req.Fence == own.Fence {
		return contract.ReserveReply{Granted: true, Exact: own.Old == nil}
	}
	if reason, short := l.short(req.Workload, req.Needs); reason != v1.ReasonNone {
		return contract.ReserveReply{Reason: reason, Short: short}
	}
	e := Entry{Fence: req.Fence, Generation: req.Generation, Needs: req.Needs, Expires: now.Add(grant)}
	switch {
	case held && own.Bound:
		e.Old = &Previous{own.Fence, own.Generation, own.held()}
	case held:
		e.Old = own.Old // an unbound grant is replaced as if it had never been
	}
	if l.Entries == nil {
		l.Entries = map[string]Entry{}
	}
	l.Entries[req.Workload] = e
	return contract.ReserveReply{Granted: true, Exact: e.Old == nil}
}

// would reports whether a reserve would be granted. It changes nothing.
func (l *Ledger) would(req contract.ReserveRequest) bool {
	reason, _ := l.short(req.Workload, req.Needs)
	return reason == v1.ReasonNone && l.seen(req) == 0
}

// seen is the fence that makes a reserve one of the past, or zero.
func (l *Ledger) seen(req contract.ReserveRequest) int64 {
	if m := l.Marks[req.Workload].Fence; req.Fence <= m {
		return m
	}
	if e := l.Entries[req.Workload].Fence; req.Fence < e {
		return e
	}
	return 0
}

// Bind keeps a grant. It fails if the grant has lapsed or was replaced.
func (l *Ledger) Bind(workload string, fence int64, now time.Time) error {
	l.Expire(now)
	e, ok := l.Entries[workload]
	switch {
	case ok && e.Fence > fence:
		return contract.StaleFence(fence, e.Fence)
	case !ok || e.Fence < fence:
		return contract.Retryable(v1.ReasonNoCapacity, "it is placed again by itself", "the grant for %s lapsed before it was bound", workload)
	}
	e.Bound, e.Expires = true, time.Time{}
	l.Entries[workload] = e
	return nil
}

// Settle sets a reservation to what runs once an action has ended. A settle of an older action is ignored.
func (l *Ledger) Settle(req contract.SettleRequest) {
	e, ok := l.Entries[req.Workload]
	if !ok || e.Fence > req.Fence {
		return
	}
	e.Fence, e.Needs, e.Old, e.Bound, e.Expires = req.Fence, req.Needs, nil, true, time.Time{}
	l.Entries[req.Workload] = e
}

// Release gives a reservation back and leaves a mark. A release of an older action only leaves its mark.
func (l *Ledger) Release(req contract.ReleaseRequest, now time.Time) {
	if e, ok := l.Entries[req.Workload]; ok && e.Fence <= req.Fence {
		delete(l.Entries, req.Workload)
	}
	if l.Marks[req.Workload].Fence <= req.Fence {
		if l.Marks == nil {
			l.Marks = map[string]Mark{}
		}
		l.Marks[req.Workload] = Mark{Fence: req.Fence, At: now}
	}
}

// Expire drops grants that lapsed and marks that are old.
func (l *Ledger) Expire(now time.Time) {
	for _, name := range sortedKeys(l.Entries) {
		e := l.Entries[name]
		if e.Bound || now.Before(e.Expires) {
			continue
		}
		if e.Old == nil {
			delete(l.Entries, name)
			continue
		}
		l.Entries[name] = Entry{Fence: e.Old.Fence, Generation: e.Old.Generation, Bound: true, Needs: e.Old.Needs}
	}
	for _, name := range sortedKeys(l.Marks) {
		if now.Sub(l.Marks[name].At) > MarkLife {
			delete(l.Marks, name)
		}
	}
}

// NextExpiry is when Expire has something to do next, or zero. Marks are dropped in passing and wake nobody.
func (l *Ledger) NextExpiry() time.Time {
	var next time.Time
	for _, name := range sortedKeys(l.Entries) {
		e := l.Entries[name]
		if !e.Bound && (next.IsZero() || e.Expires.Before(next)) {
			next = e.Expires
		}
	}
	return next
}

// Reserved is the sum of what is held.
func (l *Ledger) Reserved() v1.Amounts { return l.reservedWithout("") }

func (l *Ledger) reservedWithout(workload string) v1.Amounts {
	var sum v1.Amounts
	for _, name := range sortedKeys(l.Entries) {
		if name == workload {
			continue
		}
		h := l.Entries[name].held().Amount
		sum.CPUs += h.CPUs
		sum.Memory += h.Memory
		sum.Disk += h.Disk
	}
	return sum
}

// free is what has not been given away. It is negative where the capacity has shrunk since.
func (l *Ledger) free() v1.Amounts {
	r := l.Reserved()
	return v1.Amounts{CPUs: l.Capacity.CPUs - r.CPUs, Memory: l.Capacity.Memory - r.Memory, Disk: l.Capacity.Disk - r.Disk}
}

// short says what is missing for a workload, counting its own reservation as free.
func (l *Ledger) short(workload string, n contract.Needs) (v1.Reason, string) {
	if reason, short := contract.Short(l.Capacity, l.reservedWithout(workload), n.Amount); reason != v1.ReasonNone {
		return reason, short
	}
	own := l.Entries[workload].held().Devices
	for _, name := range sortedKeys(l.Entries) {
		if name == workload {
			continue
		}
		h := l.Entries[name].held()
		if key := apart(n, h); key != "" {
			return v1.ReasonNoMatchingHost, fmt.Sprintf("%s runs here, and has the same %s=%s to be kept apart by", name, key, n.Labels[key])
		}
		for _, p := range n.Ports {
			if i := slices.IndexFunc(h.Ports, func(q contract.PortClaim) bool { return clash(p, q) }); i >= 0 {
				return v1.ReasonPortConflict, fmt.Sprintf("port %d/%s is reserved by %s", p.Port, p.Protocol, name)
			}
		}
		for _, d := range n.Devices {
			if as, taken := l.device(d, h.Devices, own); taken {
				return v1.ReasonNoCapacity, fmt.Sprintf("device %s is reserved by %s%s", d, name, as)
			}
		}
	}
	return v1.ReasonNone, ""
}

// held is what each workload takes.
func (l *Ledger) held() map[string]contract.Needs {
	all := make(map[string]contract.Needs, len(l.Entries))
	for _, name := range sortedKeys(l.Entries) {
		all[name] = l.Entries[name].held()
	}
	return all
}

// held is what an entry takes: the maximum of what ran and what is asked for.
func (e Entry) held() contract.Needs {
	if e.Old == nil {
		return e.Needs
	}
	h := e.Needs
	h.Amount = v1.Amounts{
		CPUs:   max(h.Amount.CPUs, e.Old.Needs.Amount.CPUs),
		Memory: max(h.Amount.Memory, e.Old.Needs.Amount.Memory),
		Disk:   max(h.Amount.Disk, e.Old.Needs.Amount.Disk),
	}
	h.Ports = union(h.Ports, e.Old.Needs.Ports)
	h.Devices = union(h.Devices, e.Old.Needs.Devices)
	return h
}

// apart returns the label by which two workloads must not share a host: each says so for itself.
func apart(a, b contract.Needs) string {
	for _, key := range []string{a.Apart, b.Apart} {
		value, ok := a.Labels[key]
		if other, both := b.Labels[key]; key != "" && ok && both && value == other {
			return key
		}
	}
	return ""
}

func clash(a, b contract.PortClaim) bool {
	return a.Port == b.Port && a.Protocol == b.Protocol && (a.IP == b.IP || wildcard(a.IP) || wildcard(b.IP))
}

func wildcard(ip string) bool { return ip == "" || ip == "0.0.0.0" || ip == "::" }

func union[T comparable](a, b []T) []T {
	all := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	return all
}

func stale(own, seen int64) contract.ReserveReply {
	return contract.ReserveReply{
		Reason: v1.ReasonStaleFence, Seen: seen, Short: fmt.Sprintf("fence %d is stale: the host has seen %d", own, seen),
	}
}

// sortedKeys are a map's keys in an order that is the same in every replay.
//
//workflowcheck:ignore
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
