// Package sweep compares what hosts hold with what the fleet wants, in both directions: what belongs to nobody is an orphan,
// what is wanted and absent is told to its workload. Compare and its helpers are pure; the workflow asks, and carries out.
package sweep

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// View is one host as it was read.
type View struct {
	Ledger contract.HostLedger
	Things []contract.Thing
	// Unread are the kinds that could not be read, and why: nothing is concluded about them.
	Unread map[contract.ThingKind]string
	// ReadAt is when reading began, in milliseconds of Temporal's clock. Rewound is as in contract.InventoryOut.
	ReadAt, Rewound int64
}

// Finding is one thing that is not in order.
type Finding struct {
	Thing   contract.Thing
	Verdict v1.Verdict
	Message string
	// Discard is set for an orphan that may be removed, Repair for what its workload or host must be told.
	Discard *contract.Orphan
	Repair  *contract.Repair

	// kept is true if its host found that the thing belongs to somebody after all.
	kept bool
}

// Judgement is what a comparison says about a host.
type Judgement struct {
	Findings []Finding
	// Live counts the things that belong to somebody, Total all but the tombstones of removed workloads and cached images.
	Live, Total int
	// Forgotten names things that are older than the fleet's memory of their host, and of which it knows nothing: what the
	// fleet wants is then not known as a whole.
	Forgotten []string
	// Ahead names workloads of which the host has seen later actions than they know themselves: the same is true then.
	Ahead []string
}

// Compare judges everything on one host. It is pure: what it is given decides alone.
func Compare(v View, wants map[string]contract.Want, grace time.Duration) Judgement {
	c := newComparison(v, wants, grace)
	for _, t := range v.Things {
		if removalOrder(t.Kind) < 0 {
			continue // an agent that is newer tells of it: what it means is not known here
		}
		if !t.Tombstone && t.Kind != contract.ThingImage {
			c.out.Total++
		}
		c.judge(t)
	}
	c.absences()
	c.reservations()
	c.ahead()
	return c.out
}

// Discards are the orphans that may be removed, in the order in which they must be: what uses something before what it
// uses.
func (j Judgement) Discards() []*Finding {
	var all []*Finding
	for i := range j.Findings {
		if j.Findings[i].Discard != nil {
			all = append(all, &j.Findings[i])
		}
	}
	slices.SortStableFunc(all, func(a, b *Finding) int { return removalOrder(a.Thing.Kind) - removalOrder(b.Thing.Kind) })
	return all
}

// Counted is how many of the orphans that may be removed count against the share of the host's things that a sweep removes by
// itself. Cached images do not: a cache is there to be emptied.
func (j Judgement) Counted() int {
	n := 0
	for _, f := range j.Discards() {
		if f.Thing.Kind != contract.ThingImage {
			n++
		}
	}
	return n
}

// TooMany reports whether the orphans that may be removed are a larger share of the host's things than a sweep removes by
// itself.
func (j Judgement) TooMany() bool {
	return j.Counted()*100 > v1.SweepShare*j.Total
}

// removalOrder is the place of a kind in the order of removals, negative for kinds that no host of today has.
func removalOrder(k contract.ThingKind) int {
	return slices.Index([]contract.ThingKind{
		contract.ThingContainer, contract.ThingDomain, contract.ThingNetwork, contract.ThingSeed, contract.ThingDisk,
		contract.ThingVolume, contract.ThingImage, contract.ThingDownload, contract.ThingRecord,
	}, k)
}

// comparison is one under way.
type comparison struct {
	View
	wants map[string]contract.Want
	grace time.Duration
	out   Judgement

	// records are the host's records by workload, running what it has of the generations that run, and young the workloads
	// of whose containers and domains one is within the grace.
	records map[string]contract.Thing
	runs    map[string]bool
	young   map[string]bool
	// fetches is true if a virtual machine here may still need a download.
	fetches bool
}

//workflowcheck:ignore the map's order shows in nothing: any fetch is as good as another
func newComparison(v View, wants map[string]contract.Want, grace time.Duration) *comparison {
	c := &comparison{
		View: v, wants: wants, grace: grace,
		records: map[string]contract.Thing{}, runs: map[string]bool{}, young: map[string]bool{},
	}
	for _, t := range v.Things {
		switch {
		case t.Kind == contract.ThingRecord:
			c.records[t.Workload] = t
		case isRuntime(t.Kind):
			w := wants[t.Workload]
			c.runs[t.Workload] = c.runs[t.Workload] || w.Running > 0 && t.Generation == w.Running
			c.young[t.Workload] = c.young[t.Workload] || t.Age < grace
		}
	}
	for _, w := range wants {
		if w.Kind == v1.KindVM && w.Presence == contract.PresenceOpen && (w.Host == v.Ledger.Host || w.Busy) && (w.Busy || w.Running == 0) {
			c.fetches = true
		}
	}
	return c
}

func (c *comparison) add(f Finding) { c.out.Findings = append(c.out.Findings, f) }

// judge finds out whether a thing belongs to somebody, and if not, whether it may go.
func (c *comparison) judge(t contract.Thing) {
	o, orphan := c.ownerless(t)
	switch {
	case t.Odd != "":
		c.add(Finding{Thing: t, Verdict: v1.VerdictUnexplained, Message: t.Odd})
	case !orphan:
		c.out.Live++
	case t.Kept && !o.proven:
		c.add(Finding{Thing: t, Verdict: v1.VerdictUnexplained, Message: "it was kept when its workload was removed"})
	case o.odd, !o.proven && holdsData(t.Kind):
		c.add(Finding{Thing: t, Verdict: v1.VerdictUnexplained, Message: o.why})
	case !t.Known:
		c.add(Finding{Thing: t, Verdict: v1.VerdictUnexplained, Message: o.why + "; its age is not known"})
	case t.Age < c.grace || c.young[t.Workload] && !isRuntime(t.Kind) && t.Workload != "":
		c.add(Finding{Thing: t, Verdict: v1.VerdictYoung, Message: o.why})
	default:
		c.add(Finding{Thing: t, Verdict: v1.VerdictOrphan, Message: o.why, Discard: &contract.Orphan{
			Thing: t, Grace: c.grace, Proven: o.proven, Record: c.records[t.Workload].Fence,
		}})
	}
	if o.forgotten {
		c.out.Forgotten = append(c.out.Forgotten, string(t.Kind)+" "+t.Name)
	}
}

// ownerless says why nobody has a thing.
type ownerless struct {
	why string
	// proven is true if it is proven that the workload's data may go as well.
	proven bool
	// odd is true if something does not fit: then it is left alone, whatever it is.
	odd bool
	// forgotten is true if the thing is older than what the fleet remembers.
	forgotten bool
}

// ownerless reports whether nobody has a thing, and why.
func (c *comparison) ownerless(t contract.Thing) (ownerless, bool) {
	if t.Kind == contract.ThingDownload {
		return ownerless{why: "nothing is fetched for a workload here", proven: true}, !t.InUse && !c.fetches
	}
	if t.Kind == contract.ThingImage {
		return ownerless{why: "no disk on its host is based on it, and nothing has used it for as long as images are kept", proven: true}, !t.InUse
	}
	w := c.wants[t.Workload]
	later := ownerless{why: fmt.Sprintf("its fence %d is later than any that is known of its workload", t.Fence), odd: true}
	switch {
	case t.Tombstone:
		return ownerless{}, false
	case w.Presence == contract.PresenceOpen && w.Busy:
		return ownerless{}, false
	case w.Presence == contract.PresenceOpen && w.Host == c.Ledger.Host:
		// Where only an earlier generation is left, the next deploy takes care of it: see absences.
		old := isRuntime(t.Kind) && w.Running > 0 && t.Generation != w.Running && c.runs[t.Workload]
		return ownerless{why: fmt.Sprintf("it is of generation %d, and generation %d runs", t.Generation, w.Running)}, old
	case (w.Presence == contract.PresenceOpen || w.Presence == contract.PresenceRemoved) && t.Fence > w.Fence:
		return later, true
	case w.Presence == contract.PresenceOpen && w.Host != "":
		return ownerless{why: "its workload is on host " + w.Host, proven: c.proven(t)}, true
	case w.Presence == contract.PresenceOpen:
		return ownerless{why: "its workload is on no host", proven: c.proven(t)}, true
	case w.Presence == contract.PresenceRemoved && t.Fence < w.Born:
		// What an earlier workload of the name left, perhaps on another host, is not what was asked to go with this one.
		return ownerless{why: "an earlier workload of its name made it, and the later one was removed", proven: c.proven(t)}, true
	case w.Presence == contract.PresenceRemoved:
		// The record of a removal does not say what became of named volumes: the host's tombstone does.
		return ownerless{why: "its workload was removed", proven: t.Kind != contract.ThingVolume || c.proven(t)}, true
	case w.Presence == contract.PresenceBroken:
		return ownerless{why: "its workload's workflow was ended from outside", proven: c.proven(t)}, true
	default:
		o := ownerless{why: "there is no workload of its name", proven: c.proven(t)}
		o.forgotten = c.forgotten(t) && !o.proven
		return o, true
	}
}

// forgotten reports whether a thing of which the fleet knows nothing is older than what it remembers. Disks and volumes may
// well be: they outlive the memory of their workloads, and go only on proof anyway.
func (c *comparison) forgotten(t contract.Thing) bool {
	if t.Odd != "" || t.Kind == contract.ThingDisk || t.Kind == contract.ThingVolume {
		return false
	}
	return t.Fence > 0 && t.Fence < max(c.Ledger.Since, c.Rewound)
}

// proven reports whether a tombstone or a debt on this host covers a thing. Named volumes outlive their workload unless they
// were to go too.
func (c *comparison) proven(t contract.Thing) bool {
	if r := c.records[t.Workload]; r.Tombstone && r.Fence >= t.Fence && !t.Kept {
		return true
	}
	return slices.ContainsFunc(c.Ledger.Debts, func(d contract.Debt) bool {
		return d.Workload == t.Workload && d.Fence >= t.Fence && (d.Volumes || t.Kind != contract.ThingVolume)
	})
}

// absences finds what should run here, and is not there. Who was deployed after reading began may just have been missed.
func (c *comparison) absences() {
	for _, name := range c.names() {
		w := c.wants[name]
		kind := runtimeKind(w.Kind)
		if w.Presence != contract.PresenceOpen || w.Busy || w.Host != c.Ledger.Host || w.Running == 0 || w.Since >= c.ReadAt ||
			c.runs[name] || c.Unread[kind] != "" || kind == "" {
			continue
		}
		o := c.absent(w, kind)
		c.add(Finding{
			Thing:   contract.Thing{Kind: kind, Name: name, Workload: name, Generation: w.Running, Fence: w.Fence},
			Verdict: v1.VerdictMissing, Message: o.Message,
			Repair: &contract.Repair{Host: c.Ledger.Host, Workload: name, Absent: &o},
		})
	}
}

// absent says what is known of something that should run and is not there. The host's record was read before the workload's
// own state: if it is later all the same, the control plane has forgotten what it did.
func (c *comparison) absent(w contract.Want, kind contract.ThingKind) contract.SweepObservation {
	o := contract.SweepObservation{Fence: w.Fence, Message: fmt.Sprintf("generation %d should run, and there is no %s of it", w.Running, kind)}
	r := c.records[w.Workload]
	if r.Fence <= w.Fence {
		return o
	}
	o.Later = r.Fence
	became := fmt.Sprintf("it was changed there since, and there is no %s of generation %d", kind, w.Running)
	if r.Tombstone {
		became = "it was removed there since"
	}
	o.Message = fmt.Sprintf("host %s has seen its action %d, and the last that is known here is %d: %s", c.Ledger.Host, r.Fence, w.Fence, became)
	return o
}

// ahead finds records that are later than their workload, which says in its memo what it begins before it does: the database
// was put back to an earlier day. One whose first apply is under way says nothing yet.
func (c *comparison) ahead() {
	for _, name := range c.names() {
		if w := c.wants[name]; w.Fence > 0 && c.records[name].Fence > w.Fence {
			c.out.Ahead = append(c.out.Ahead, name)
		}
	}
}

// reservations finds those whose workload says that it is not here, and of which nothing is left here.
func (c *comparison) reservations() {
	left := map[string]bool{}
	for _, t := range c.Things {
		left[t.Workload] = left[t.Workload] || t.Kind != contract.ThingRecord
	}
	for _, r := range c.Ledger.Reservations {
		w := c.wants[r.Workload]
		here := w.Presence == contract.PresenceOpen && (w.Busy || w.Host == c.Ledger.Host)
		known := w.Presence == contract.PresenceOpen || w.Presence == contract.PresenceRemoved
		if !r.Bound || here || left[r.Workload] || c.unseen(r.Kind) || known && r.Fence > w.Fence {
			continue
		}
		c.add(Finding{
			Thing:   contract.Thing{Kind: contract.ThingReservation, Name: r.Workload, Workload: r.Workload, Generation: r.Generation, Fence: r.Fence},
			Verdict: v1.VerdictMissing, Message: "it is reserved for a workload that is not here",
			Repair: &contract.Repair{
				Host: c.Ledger.Host, Workload: r.Workload, Release: &contract.ReleaseRequest{Workload: r.Workload, Fence: r.Fence},
			},
		})
	}
}

// unseen reports whether something of a kind of workload may be here that could not be read.
func (c *comparison) unseen(k v1.Kind) bool {
	kinds := []contract.ThingKind{contract.ThingContainer, contract.ThingVolume, contract.ThingNetwork}
	switch k {
	case v1.KindContainer:
	case v1.KindVM:
		kinds = []contract.ThingKind{contract.ThingDomain, contract.ThingDisk, contract.ThingSeed}
	default:
		return len(c.Unread) > 0
	}
	return slices.ContainsFunc(kinds, func(k contract.ThingKind) bool { return c.Unread[k] != "" })
}

// names are the workloads that the host has to do with, sorted.
func (c *comparison) names() []string {
	names := map[string]bool{}
	for _, t := range c.Things {
		names[t.Workload] = true
	}
	for _, r := range c.Ledger.Reservations {
		names[r.Workload] = true
	}
	return sortedKeys(names)
}

// holdsData reports whether a thing of this kind goes only on proof. A record is the host's memory of what it has seen.
func holdsData(k contract.ThingKind) bool {
	return k == contract.ThingDisk || k == contract.ThingVolume || k == contract.ThingRecord
}

func isRuntime(k contract.ThingKind) bool {
	return k == contract.ThingContainer || k == contract.ThingDomain
}

// runtimeKind is what a workload of a kind runs as.
func runtimeKind(k v1.Kind) contract.ThingKind {
	switch k {
	case v1.KindContainer:
		return contract.ThingContainer
	case v1.KindVM:
		return contract.ThingDomain
	default:
		return ""
	}
}

// sortedKeys are a map's keys in an order that is the same in every replay.
//
//workflowcheck:ignore
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
