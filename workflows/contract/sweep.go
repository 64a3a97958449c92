package contract

import (
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
)

// The workflows of the orphan sweep. SweepID is the id of every run, so that there is one at a time, whoever starts it;
// SweepScheduleID is the id of the Temporal Schedule, and what the ids of its workflows begin with.
const (
	WorkflowSweep          = "Sweep"
	WorkflowScheduledSweep = "ScheduledSweep"

	SweepID         = "orphan-sweep/run"
	SweepScheduleID = "orphan-sweep"

	// QuerySweep answers with v1.Sweep as it stands, with the page of things that SweepPage names.
	QuerySweep = "sweep"
	// MemoSweep is the memo field that holds v1.Sweep without its things, for who reads it without a worker.
	MemoSweep = "sweep"
	// SweepFailedType is the type of the failure of a sweep that did not do all that it was asked; its details are v1.Sweep.
	SweepFailedType = "SweepFailed"
)

// Activities of the sweep: Inventory and Discard on a host's queue, the others on the control plane's.
const (
	ActivityInventory    = "Inventory"
	ActivityDiscard      = "Discard"
	ActivityFleetHosts   = "FleetHosts"
	ActivityFleetLedgers = "FleetLedgers"
	ActivityFleetWants   = "FleetWants"
	ActivityFleetRepair  = "FleetRepair"
)

// SweepLimit bounds a run of the sweep.
const SweepLimit = 30 * time.Minute

// SweepInput starts a run.
type SweepInput struct {
	Request v1.SweepRequest `json:"request"`
}

// ScheduledSweepOut is the result of a scheduled run: skipped, or what the sweep said.
type ScheduledSweepOut struct {
	// Skipped is true if a sweep was running already.
	Skipped bool     `json:"skipped,omitempty"`
	Sweep   v1.Sweep `json:"sweep,omitzero"`
}

// SweepPage asks for a page of a sweep's things.
type SweepPage struct {
	Offset int `json:"offset"`
	Limit  int `json:"limit"`
}

// ThingKind is a kind of what a host holds.
type ThingKind string

// The kinds of things. A record is what the host remembers of a workload, with its fence.
const (
	ThingContainer ThingKind = "container"
	ThingNetwork   ThingKind = "network"
	ThingVolume    ThingKind = "volume"
	ThingDomain    ThingKind = "domain"
	ThingDisk      ThingKind = "disk"
	ThingSeed      ThingKind = "seed"
	ThingDownload  ThingKind = "download"
	// ThingImage is an image in a host's cache. A host lists those that nothing there uses; the age is the time since the
	// last use.
	ThingImage  ThingKind = "image"
	ThingRecord ThingKind = "record"
	// ThingReservation stands in the ledger of a host.
	ThingReservation ThingKind = "reservation"
)

// Thing is one thing that a host holds with this fleet's and its own mark.
type Thing struct {
	Kind ThingKind `json:"k"`
	// Name is the runtime's, or a path within the data directory. ID is the runtime's id, if it has one.
	Name string `json:"n"`
	ID   string `json:"i,omitempty"`
	// Workload is empty for a download or an image, which belongs to the host.
	Workload   string `json:"w,omitempty"`
	Generation int64  `json:"g,omitempty"`
	Fence      int64  `json:"f,omitempty"`
	// Age is by the thing's own time and the host's own clock. Known is false if it has none: it is never removed.
	Age   time.Duration `json:"a,omitempty"`
	Known bool          `json:"t,omitempty"`
	Size  int64         `json:"s,omitempty"`
	// InUse is true for a download that is under way, and for a record whose action is open.
	InUse bool `json:"u,omitempty"`
	// Tombstone is true for the record of a workload that was removed from this host.
	Tombstone bool `json:"d,omitempty"`
	// Kept is true for a volume that was kept when its workload was removed, on purpose.
	Kept bool `json:"v,omitempty"`
	// Odd, if set, says why the thing is never removed, though it carries the mark.
	Odd string `json:"o,omitempty"`
}

// InventoryIn asks for one page of what a host holds.
type InventoryIn struct {
	// After is the Next of the page before.
	After string `json:"after,omitempty"`
	Limit int    `json:"limit"`
}

// InventoryOut is one page, in the order of kind and name.
type InventoryOut struct {
	Things []Thing `json:"things,omitempty"`
	// Next is empty on the last page.
	Next string `json:"next,omitempty"`
	// Unread says which kinds could not be read, and why: nothing can be concluded about them.
	Unread map[ThingKind]string `json:"unread,omitempty"`
	// Rewound is the time, in milliseconds, at which the host last saw that the fleet had forgotten what it knew: it got a
	// lower lease number than before. Zero if it never did.
	Rewound int64 `json:"rewound,omitempty"`
}

// DiscardIn asks a host to remove orphans, in the order of their kinds.
type DiscardIn struct {
	Orphans []Orphan `json:"orphans"`
}

// Orphan is a thing that may be removed.
type Orphan struct {
	Thing Thing         `json:"thing"`
	Grace time.Duration `json:"grace"`
	// Proven is true if it is proven that the workload's data may go as well: a debt, or the record of its removal.
	Proven bool `json:"proven,omitempty"`
	// Record is the fence of the workload's record when the host was read, zero if there was none: if it is another by
	// now, somebody has come between.
	Record int64 `json:"record,omitempty"`
}

// DiscardOut says what became of each, in order.
type DiscardOut struct {
	Fates []Fate `json:"fates"`
}

// Fate is what became of an orphan. It is gone if neither field is set.
type Fate struct {
	// Kept says why it was not removed: it is not what it was when the host was read.
	Kept string `json:"kept,omitempty"`
	// Failed says why it could not be removed.
	Failed string `json:"failed,omitempty"`
}

// FleetHostsIn names the hosts to look for; none means all.
type FleetHostsIn struct {
	Hosts []string `json:"hosts,omitempty"`
}

// FleetHostsOut are the ids of the fleet's hosts, sorted. Unknown are those that were named and do not exist.
type FleetHostsOut struct {
	Hosts   []string `json:"hosts"`
	Unknown []string `json:"unknown,omitempty"`
}

// FleetLedgersIn names the hosts whose ledgers are read.
type FleetLedgersIn struct {
	Hosts []string `json:"hosts"`
}

// FleetLedgersOut are the hosts' ledgers, in the order that was asked for.
type FleetLedgersOut struct {
	Hosts []HostLedger `json:"hosts"`
}

// HostLedger is what a host's entity knows, as far as a sweep needs it.
type HostLedger struct {
	Host     string       `json:"host"`
	Instance string       `json:"instance"`
	Online   bool         `json:"online"`
	State    v1.HostState `json:"state"`
	// Since is when the fleet first heard of the host, in milliseconds. What is older, and unknown, was made for a fleet
	// whose memory is lost.
	Since        int64         `json:"since"`
	Reservations []Reservation `json:"reservations,omitempty"`
	Debts        []Debt        `json:"debts,omitempty"`
}

// Reservation is an entry in a host's ledger.
type Reservation struct {
	Workload   string  `json:"w"`
	Fence      int64   `json:"f"`
	Generation int64   `json:"g"`
	Kind       v1.Kind `json:"k,omitempty"`
	Bound      bool    `json:"b,omitempty"`
}

// FleetWantsIn names workloads.
type FleetWantsIn struct {
	Workloads []string `json:"workloads"`
}

// FleetWantsOut says of each where it stands, in the order that was asked for.
type FleetWantsOut struct {
	Workloads []Want `json:"workloads"`
}

// Presence says what the fleet knows of a workload.
type Presence string

// The presences. PresenceNone means that there is no trace of such a workload, or none any more; PresenceBroken that its
// entity ended without having removed it: somebody terminated it.
const (
	PresenceNone    Presence = ""
	PresenceOpen    Presence = "open"
	PresenceRemoved Presence = "removed"
	PresenceBroken  Presence = "broken"
)

// Want is what the fleet wants of a workload, as its entity says.
type Want struct {
	Workload string   `json:"w"`
	Presence Presence `json:"p,omitempty"`
	Kind     v1.Kind  `json:"k,omitempty"`
	// Busy is true while an action runs, or something that was asked for has not been carried out.
	Busy bool `json:"b,omitempty"`
	// Host is where it is placed; empty if it is nowhere.
	Host string `json:"h,omitempty"`
	// Fence is the highest that it has given out. Running is the generation that was deployed last and not stopped since,
	// zero if none; Since is when, in milliseconds of Temporal's clock.
	Fence   int64 `json:"f,omitempty"`
	Running int64 `json:"r,omitempty"`
	Since   int64 `json:"s,omitempty"`
	// Born is when it was first applied, in milliseconds of Temporal's clock, in which fences begin: what has a lower fence
	// was made by an earlier workload of its name. Zero if that is not known.
	Born int64 `json:"c,omitempty"`
}

// Repair tells a workload or a host of what a sweep found.
type Repair struct {
	Host     string `json:"host"`
	Workload string `json:"workload"`
	// Absent tells the workload that what it runs is not on its host. Fence is the workload's when it was read.
	Absent *SweepObservation `json:"absent,omitempty"`
	// Release gives a reservation back whose workload is not there.
	Release *ReleaseRequest `json:"release,omitempty"`
}

// SweepObservation is what a sweep adds to an Observation: it holds only as long as the workload's fence is still Fence and
// no action is open.
type SweepObservation struct {
	Fence   int64  `json:"fence"`
	Message string `json:"message"`
	// Later is the fence of the host's record if that is later than the workload's own: what runs here was changed or removed
	// by actions that the control plane has forgotten, and is not to be made again unasked. Zero otherwise.
	Later int64 `json:"later,omitempty"`
}

// FleetRepairIn are repairs to make.
type FleetRepairIn struct {
	Repairs []Repair `json:"repairs"`
}

// FleetRepairOut has one entry for each repair: empty if it was told, else why not.
type FleetRepairOut struct {
	Failed []string `json:"failed"`
}

// Differs says how a thing, looked at again, is not the orphan that it was taken for; empty if it still is.
func (o Orphan) Differs(now Thing) string {
	switch {
	case now.Odd != "":
		return now.Odd
	case now.ID != o.Thing.ID, now.Workload != o.Thing.Workload, now.Generation != o.Thing.Generation, now.Fence != o.Thing.Fence:
		return "it is another by now, or marked anew"
	case now.InUse:
		return "it is in use"
	case !now.Known:
		return "its age is not known"
	case now.Age < o.Grace:
		return "it is younger than the grace"
	default:
		return ""
	}
}
