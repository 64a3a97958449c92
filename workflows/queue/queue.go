// Package queue is fleet/queue: who waits for room, in which order they are woken, and that one at a time is.
package queue

import (
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/berth-dev/berth/workflows/contract"
)

// answerWithin is how long a wake stays outstanding without an answer before the next one is tried.
const answerWithin = 10 * time.Second

// State is all that the queue carries from run to run.
type State struct {
	// Waiting is who waits, by workload.
	Waiting map[string]contract.Waiter `json:"waiting,omitempty"`
	// Woken is the wake that has not been answered yet.
	Woken *Wake `json:"woken,omitempty"`
	// Rooms are hosts that said they have room, and have not been offered to everybody since.
	Rooms map[string]Room `json:"rooms,omitempty"`
	// Behind are the rooms that newcomers were kept from, by host.
	Behind map[string]Behind `json:"behind,omitempty"`
	// ContinueAsNewAt is the number of history events after which the queue continues as new.
	ContinueAsNewAt int `json:"continueAsNewAt"`
}

// Wake is an offer of a host's room to one workload.
type Wake struct {
	Workload string    `json:"workload"`
	Host     string    `json:"host"`
	At       time.Time `json:"at"`
}

// Room is what a host said of itself, and who was woken for it already.
type Room struct {
	contract.Room
	Offered map[string]bool `json:"offered,omitempty"`
	// TooMuch are the needs of those that were woken and refused.
	TooMuch []contract.Needs `json:"tooMuch,omitempty"`
}

// Behind is a room that somebody was kept from, and for whom.
type Behind struct {
	contract.Room
	Ahead []string `json:"ahead"`
}

// Enqueue registers a workload, or answers its wake with a refusal: it keeps its place.
func (s *State) Enqueue(w contract.Waiter) {
	if s.Waiting == nil {
		s.Waiting = map[string]contract.Waiter{}
	}
	if before, ok := s.Waiting[w.Workload]; ok && before.Fence <= w.Fence {
		w.Since = before.Since
	}
	s.Waiting[w.Workload] = w
	s.answered(w.Workload)
}

// Answers reports whether the workload's next message answers its wake.
func (s *State) Answers(workload string) bool { return s.Woken != nil && s.Woken.Workload == workload }

// Offered reports whether the room that a workload was woken for is still the last that its host has told of.
func (s *State) Offered(workload string) bool { return s.Rooms[s.Woken.Host].Offered[workload] }

// Refused notes what the workload that was woken could not get: who needs no less is not woken in vain. It comes before the
// waiter's Enqueue.
func (s *State) Refused(w contract.Waiter) {
	room, ok := s.Rooms[s.Woken.Host]
	if !ok || slices.ContainsFunc(room.TooMuch, func(n contract.Needs) bool { return noLess(w.Needs, n) }) {
		return
	}
	room.TooMuch = append(room.TooMuch, w.Needs)
	s.Rooms[s.Woken.Host] = room
}

// Leave takes a workload out: it was placed, or wants nothing any more.
func (s *State) Leave(l contract.LeaveQueue) {
	if w, ok := s.Waiting[l.Workload]; ok && w.Fence <= l.Fence {
		delete(s.Waiting, l.Workload)
		s.openFor(l.Workload)
	}
	s.answered(l.Workload)
}

// Gone takes a workload out that could not be woken, because it does not exist any more.
func (s *State) Gone(workload string) {
	delete(s.Waiting, workload)
	s.openFor(workload)
	s.answered(workload)
}

// Keep notes that a newcomer was kept from a host's room for those ahead of it. They may go elsewhere: then nothing of the host
// changes, and it would tell nobody.
func (s *State) Keep(host contract.Room, ahead []contract.Waiter) {
	kept := Behind{Room: host, Ahead: s.Behind[host.Host].Ahead}
	for _, w := range ahead {
		if !slices.Contains(kept.Ahead, w.Workload) {
			kept.Ahead = append(kept.Ahead, w.Workload)
		}
	}
	if s.Behind == nil {
		s.Behind = map[string]Behind{}
	}
	s.Behind[host.Host] = kept
}

// openFor offers the rooms that somebody was kept from for a workload that waits no more.
func (s *State) openFor(workload string) {
	for _, host := range sorted(s.Behind) {
		if kept := s.Behind[host]; slices.Contains(kept.Ahead, workload) {
			s.Offer(kept.Room)
		}
	}
}

// Offer notes that a host may have room. It is offered to everybody anew.
func (s *State) Offer(r contract.Room) {
	if s.Rooms == nil {
		s.Rooms = map[string]Room{}
	}
	s.Rooms[r.Host] = Room{Room: r}
	delete(s.Behind, r.Host)
}

// Next says whom to wake now, if anybody. Offers that nobody is left for are dropped.
func (s *State) Next(now time.Time) *Wake {
	if s.Woken != nil {
		if now.Before(s.Woken.At.Add(answerWithin)) {
			return nil
		}
		s.Woken = nil // it did not answer: the next one is tried
	}
	order := s.order()
	for _, host := range sorted(s.Rooms) {
		room := s.Rooms[host]
		for _, w := range order {
			if room.Offered[w.Workload] || !fits(room.Room, w) || room.refused(w.Needs) {
				continue
			}
			if room.Offered == nil {
				room.Offered = map[string]bool{}
			}
			room.Offered[w.Workload] = true
			s.Rooms[host] = room
			s.Woken = &Wake{Workload: w.Workload, Host: host, At: now}
			return s.Woken
		}
		delete(s.Rooms, host)
	}
	return nil
}

// Deadline is when an unanswered wake is given up, or zero.
func (s *State) Deadline() time.Time {
	if s.Woken == nil {
		return time.Time{}
	}
	return s.Woken.At.Add(answerWithin)
}

// Ahead returns who goes before a newcomer: the waiters that might fit the host and that it does not outrank, in their
// order. Of those that need no less than an earlier one none is named: the host refuses them if it refuses that one.
func (s *State) Ahead(host contract.Room, newcomer contract.Waiter) []contract.Waiter {
	var ahead []contract.Waiter
	for _, w := range s.order() {
		if w.Workload == newcomer.Workload {
			break
		}
		covered := slices.ContainsFunc(ahead, func(a contract.Waiter) bool { return noLess(w.Needs, a.Needs) })
		if w.Priority >= newcomer.Priority && fits(host, w) && !covered {
			ahead = append(ahead, w)
		}
	}
	return ahead
}

func (s *State) answered(workload string) {
	if s.Answers(workload) {
		s.Woken = nil
	}
}

// order is by priority, then by age, then by name.
//
//workflowcheck:ignore
func (s *State) order() []contract.Waiter {
	all := make([]contract.Waiter, 0, len(s.Waiting))
	for _, w := range s.Waiting {
		all = append(all, w)
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		switch {
		case a.Priority != b.Priority:
			return a.Priority > b.Priority
		case !a.Since.Equal(b.Since):
			return a.Since.Before(b.Since)
		default:
			return a.Workload < b.Workload
		}
	})
	return all
}

// sorted are a map's keys in an order that is the same in every replay.
//
//workflowcheck:ignore
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// fits is a guess from what the host said last. The host's ledger decides.
func fits(r contract.Room, w contract.Waiter) bool {
	n := w.Needs.Amount
	return enough(n.CPUs, r.Free.CPUs) && enough(n.Memory, r.Free.Memory) && enough(n.Disk, r.Free.Disk) &&
		(r.Guard || !w.Needs.Strict) && (w.Pinned == "" || w.Pinned == r.Host) && w.Placement.Refuses(r.Host, r.Labels) == "" && slices.Contains(r.Kinds, w.Needs.Kind)
}

// refused reports whether somebody who needs no more was refused here since the host said what it has.
func (r Room) refused(n contract.Needs) bool {
	return slices.ContainsFunc(r.TooMuch, func(less contract.Needs) bool { return noLess(n, less) })
}

// noLess reports whether whoever is refused b is refused a as well.
func noLess(a, b contract.Needs) bool {
	return a.Kind == b.Kind && (a.Strict || !b.Strict) && a.Apart == b.Apart && maps.Equal(a.Labels, b.Labels) &&
		a.Amount.CPUs >= b.Amount.CPUs && a.Amount.Memory >= b.Amount.Memory && a.Amount.Disk >= b.Amount.Disk &&
		containsAll(a.Ports, b.Ports) && containsAll(a.Devices, b.Devices)
}

func containsAll[T comparable](all, some []T) bool {
	return !slices.ContainsFunc(some, func(x T) bool { return !slices.Contains(all, x) })
}

func enough[T ~int64](need, free T) bool { return need == 0 || need <= free }
