package host

import (
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Drain is the emptying of a host. Workloads are told to leave a few at a time; how they go about it is theirs.
type Drain struct {
	StartedAt   time.Time `json:"startedAt"`
	StopAt      time.Time `json:"stopAt,omitzero"`
	MaxParallel int       `json:"maxParallel"`
	// Told are the workloads that were told and still hold something here.
	Told map[string]Told `json:"told,omitempty"`
	// Gone counts those that were told and have left.
	Gone    int       `json:"gone"`
	EndedAt time.Time `json:"endedAt,omitzero"`
}

// Told is what one workload was told last, by its number, and what it answered.
type Told struct {
	Seq      int64            `json:"seq"`
	Standing v1.DrainStanding `json:"standing,omitempty"`
	Message  string           `json:"message,omitempty"`
}

// startDrain cordons the host and begins to empty it. Asked for again, it takes the new terms.
func (s *State) startDrain(req v1.DrainRequest, now time.Time) {
	s.Cordoned = true
	if s.Drain == nil {
		s.Drain = &Drain{StartedAt: now}
	}
	d := s.Drain
	d.MaxParallel, d.StopAt = req.MaxParallel, time.Time{}
	if d.MaxParallel == 0 {
		d.MaxParallel = v1.DefaultDrainParallel
	}
	switch {
	case req.Force:
		d.StopAt = now
	case req.Deadline > 0:
		d.StopAt = now.Add(req.Deadline.D())
	}
	s.retellDrain()
}

// endDrain tells those that were told to leave that they may stay. What has begun to move moves on.
func (s *State) endDrain() {
	if s.Drain == nil {
		return
	}
	for _, name := range sortedKeys(s.Drain.Told) {
		s.tellDrain(name, contract.HostDrain{Cancelled: true})
	}
	s.Drain = nil
}

// retellDrain tells all that were told before how things stand now.
func (s *State) retellDrain() {
	if s.Drain == nil {
		return
	}
	for _, name := range sortedKeys(s.Drain.Told) {
		s.tellToLeave(name)
	}
}

// advanceDrain counts who has left, and tells the next ones to leave as long as fewer than MaxParallel are on their way.
func (s *State) advanceDrain(now time.Time) {
	d := s.Drain
	if d == nil {
		return
	}
	moving := 0
	for _, name := range sortedKeys(d.Told) {
		if _, holds := s.Ledger.Entries[name]; !holds {
			delete(d.Told, name)
			d.Gone++
		} else if standing := d.Told[name].Standing; standing == "" || standing == v1.DrainMoving {
			moving++
		}
	}
	stopped := 0
	for _, name := range sortedKeys(s.Ledger.Entries) {
		told, ok := d.Told[name]
		if !ok && moving < d.MaxParallel {
			s.tellToLeave(name)
			moving++
		}
		if told.Standing == v1.DrainStopped {
			stopped++
		}
	}
	switch {
	case stopped < len(s.Ledger.Entries):
		d.EndedAt = time.Time{}
	case d.EndedAt.IsZero():
		d.EndedAt = now
	}
}

// DrainStanding takes what a workload answers to what it was told last.
func (s *State) DrainStanding(a contract.DrainStanding) {
	if s.Drain == nil {
		return
	}
	if told, ok := s.Drain.Told[a.Workload]; ok && told.Seq == a.Seq {
		told.Standing, told.Message = a.Standing, a.Message
		s.Drain.Told[a.Workload] = told
	}
}

// boundInDrain tells a workload again that had not yet recorded its place here when it was told first, and so said nothing.
func (s *State) boundInDrain(workload string) {
	if s.Drain == nil {
		return
	}
	if told, ok := s.Drain.Told[workload]; ok && told.Standing == "" {
		s.tellToLeave(workload)
	}
}

func (s *State) tellToLeave(name string) {
	if s.Drain.Told == nil {
		s.Drain.Told = map[string]Told{}
	}
	told := s.Drain.Told[name]
	told.Seq = s.tellDrain(name, contract.HostDrain{StopAt: s.Drain.StopAt, Left: s.Phase == v1.HostLeft})
	s.Drain.Told[name] = told
}

func (s *State) tellDrain(name string, n contract.HostDrain) int64 {
	s.DrainSeq++
	n.Host, n.Seq = s.Name, s.DrainSeq
	s.outbox = append(s.outbox, notice{
		to: contract.WorkloadID(name), signal: contract.SignalDrain, arg: n,
		gone: func() {
			s.DrainStanding(contract.DrainStanding{
				Workload: name, Seq: n.Seq, Standing: v1.DrainStopped, Message: "nothing is known of this workload",
			})
		},
	})
	return n.Seq
}

func (s *State) drainView() *v1.Drain {
	d := s.Drain
	if d == nil {
		return nil
	}
	view := &v1.Drain{StartedAt: d.StartedAt, MaxParallel: d.MaxParallel, Gone: d.Gone, Left: len(s.Ledger.Entries)}
	if !d.StopAt.IsZero() {
		at := d.StopAt
		view.StopAt = &at
	}
	if !d.EndedAt.IsZero() {
		at := d.EndedAt
		view.EndedAt = &at
	}
	for _, name := range sortedKeys(s.Ledger.Entries) {
		told := d.Told[name]
		if told.Standing == v1.DrainStopped {
			view.Stopped++
		}
		if len(view.Workloads) < v1.MaxDrainShown {
			view.Workloads = append(view.Workloads, v1.DrainedWorkload{Name: name, Standing: told.Standing, Message: told.Message})
		}
	}
	return view
}
