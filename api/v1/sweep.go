package v1

import (
	"errors"
	"fmt"
	"time"
)

// SweepRequest says how a sweep over what hosts hold goes.
type SweepRequest struct {
	// Delete removes orphans. Without it a sweep only says what it would remove.
	Delete bool `json:"delete,omitempty"`
	// Grace is how old an orphan must be, by its own age, before it is removed. Default: DefaultSweepGrace.
	Grace Duration `json:"grace,omitempty"`
	// Hosts are the only hosts to look at; each must exist. Default: all.
	Hosts []string `json:"hosts,omitempty"`
	// AllowMany lets a sweep remove more than SweepShare percent of a host's things.
	AllowMany bool `json:"allowMany,omitempty"`
}

const (
	// DefaultSweepGrace is how old an orphan must be unless the request says otherwise.
	DefaultSweepGrace = 10 * time.Minute
	// SweepShare is the share of a host's things, in percent, above which a sweep removes nothing there unless it is told to.
	SweepShare = 20
	// SweepThings is how many things a sweep shows at once.
	SweepThings = 100
)

// Default fills in what was left out.
func (r *SweepRequest) Default() {
	if r.Grace == 0 {
		r.Grace = Duration(DefaultSweepGrace)
	}
}

// Validate says what is wrong with a request.
func (r SweepRequest) Validate() error {
	var wrong FieldErrors
	if r.Grace < 0 {
		wrong = append(wrong, FieldError{Path: "grace", Reason: ReasonInvalid, Message: "must not be negative"})
	}
	for i, host := range r.Hosts {
		if ValidateName(host) != nil {
			wrong = append(wrong, FieldError{Path: Path(fmt.Sprintf("hosts[%d]", i)), Reason: ReasonInvalid, Message: "is not the name of a host"})
		}
	}
	if len(wrong) > 0 {
		return wrong
	}
	return nil
}

// SweepState is where a sweep stands.
type SweepState string

// The states of a sweep. One that failed has said all that it did before: see Sweep.Message.
const (
	SweepRunning   SweepState = "Running"
	SweepSucceeded SweepState = "Succeeded"
	SweepFailed    SweepState = "Failed"
)

// SweepSummary counts what a sweep found and did.
type SweepSummary struct {
	// Hosts are those that were looked for, Unreachable those of them that could not be read and were left alone.
	Hosts       int `json:"hosts"`
	Unreachable int `json:"unreachable"`
	// Orphaned are things that belong to no workload, or to an action that is over; Deleted those of them that were removed.
	Orphaned int `json:"orphaned"`
	Deleted  int `json:"deleted"`
	// SkippedLive are things that belong to somebody, SkippedGrace orphans that are too young.
	SkippedLive  int `json:"skippedLive"`
	SkippedGrace int `json:"skippedGrace"`
	// Unexplained are disks, volumes and records that belong to no workload, but of which nothing proves that they may go.
	Unexplained int `json:"unexplained"`
	// Repaired counts workloads that were told what is absent, and reservations that were given back.
	Repaired int `json:"repaired"`
	// Failed counts removals and repairs that failed.
	Failed int `json:"failed"`
}

// String is the summary on one line.
func (s SweepSummary) String() string {
	return fmt.Sprintf("hosts=%d unreachable=%d orphaned=%d deleted=%d skipped-live=%d skipped-grace=%d unexplained=%d repaired=%d failed=%d",
		s.Hosts, s.Unreachable, s.Orphaned, s.Deleted, s.SkippedLive, s.SkippedGrace, s.Unexplained, s.Repaired, s.Failed)
}

// Verdict is what a sweep made of a thing.
type Verdict string

// The verdicts. Things that are in order are counted, not listed.
const (
	// VerdictOrphan would be removed, and was not: the sweep removes nothing, or nothing on that host.
	VerdictOrphan Verdict = "Orphan"
	// VerdictDeleted was removed.
	VerdictDeleted Verdict = "Deleted"
	// VerdictYoung is an orphan within the grace.
	VerdictYoung Verdict = "Young"
	// VerdictUnexplained belongs to nobody, but nothing proves that it may go.
	VerdictUnexplained Verdict = "Unexplained"
	// VerdictMissing is wanted and not there, or reserved for nobody, and nobody was told of it yet; VerdictRepaired after.
	VerdictMissing  Verdict = "Missing"
	VerdictRepaired Verdict = "Repaired"
	// VerdictFailed could not be removed or repaired.
	VerdictFailed Verdict = "Failed"
)

// SweepThing is one thing that a sweep found not to be in order.
type SweepThing struct {
	Host string `json:"host"`
	// Kind is container, network, volume, domain, disk, seed, download, image, record or reservation.
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Workload string `json:"workload,omitempty"`
	// Generation and Fence are those that the thing is marked with.
	Generation int64 `json:"generation,omitempty"`
	Fence      int64 `json:"fence,omitempty"`
	// Age is by the thing's own time, as its host counts it; zero if it is not known.
	Age Duration `json:"age,omitempty"`
	// Size is in bytes, as far as it is known.
	Size    Bytes   `json:"size,omitempty"`
	Verdict Verdict `json:"verdict"`
	Message string  `json:"message,omitempty"`
}

// SweepHost is what a sweep has to say about a host.
type SweepHost struct {
	Name   string `json:"name"`
	Things int    `json:"things"`
	// Unreachable is true if the host could not be read; it was left alone.
	Unreachable bool   `json:"unreachable,omitempty"`
	Message     string `json:"message,omitempty"`
}

// Sweep is one sweep over what the fleet's hosts hold.
type Sweep struct {
	// ID names this run.
	ID      string       `json:"id"`
	State   SweepState   `json:"state"`
	Request SweepRequest `json:"request"`
	Summary SweepSummary `json:"summary"`
	// Message says why it failed.
	Message   string     `json:"message,omitempty"`
	StartedAt time.Time  `json:"startedAt"`
	EndedAt   *time.Time `json:"endedAt,omitempty"`
	// Hosts are those of which there is something to say.
	Hosts []SweepHost `json:"hosts,omitempty"`
	// Things are one page of what was found not to be in order.
	Things        []SweepThing `json:"things,omitempty"`
	NextPageToken string       `json:"nextPageToken,omitempty"`
}

// SweepSchedule says when sweeps run by themselves, and how.
type SweepSchedule struct {
	Paused bool `json:"paused"`
	// Interval is from one start to the next.
	Interval Duration     `json:"interval"`
	Request  SweepRequest `json:"request"`
	NextRun  *time.Time   `json:"nextRun,omitempty"`
	LastRun  *time.Time   `json:"lastRun,omitempty"`
	// Skipped counts runs that were not begun because the one before still ran.
	Skipped int64 `json:"skipped,omitempty"`
	// Note is what was written when it was last paused or resumed.
	Note string `json:"note,omitempty"`
}

// SweepScheduleChange changes the schedule. Fields that are not set change nothing.
type SweepScheduleChange struct {
	Paused   *bool     `json:"paused,omitempty"`
	Interval *Duration `json:"interval,omitempty"`
	// Request, if set, replaces how scheduled sweeps go.
	Request *SweepRequest `json:"request,omitempty"`
}

// MinSweepInterval bounds how often sweeps may run by themselves.
const MinSweepInterval = time.Minute

// Validate says what is wrong with a change.
func (c SweepScheduleChange) Validate() error {
	if c.Interval != nil && c.Interval.D() < MinSweepInterval {
		return FieldErrors{{Path: "interval", Reason: ReasonInvalid, Message: "must be at least " + MinSweepInterval.String()}}
	}
	if c.Request == nil {
		return nil
	}
	var wrong FieldErrors
	if errors.As(c.Request.Validate(), &wrong) {
		return wrong.Under("request")
	}
	return nil
}
