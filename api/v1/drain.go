package v1

import "time"

// MaxDrainParallel bounds how many workloads leave a host at a time. DefaultDrainParallel holds if nothing is said.
const (
	DefaultDrainParallel = 4
	MaxDrainParallel     = 100
)

// MaxDrainDeadline bounds a drain's deadline.
const MaxDrainDeadline = Duration(30 * 24 * time.Hour)

// DrainRequest asks for a host to be emptied: it takes no new work, and what runs there moves to other hosts.
type DrainRequest struct {
	// Deadline is how long what cannot move may run on before it is stopped. Without one it runs on, unless Force is set.
	Deadline Duration `json:"deadline,omitempty"`
	// Force stops at once what cannot move.
	Force bool `json:"force,omitempty"`
	// MaxParallel is how many workloads move at a time; DefaultDrainParallel if it is zero.
	MaxParallel int `json:"maxParallel,omitempty"`
}

// Validate refuses what is out of bounds, with the field's path.
func (r *DrainRequest) Validate() error {
	var m mistakes
	checkDuration(&m, "deadline", r.Deadline, 0, MaxDrainDeadline)
	checkRange(&m, "maxParallel", r.MaxParallel, 0, MaxDrainParallel)
	return m.err()
}

// DrainStanding is where a workload stands that is to leave its host.
type DrainStanding string

// The standings. Moving: it is on its way. Waiting: it would move, and cannot yet. Staying: it does not move, and is
// stopped at the drain's deadline, if there is one. Stopped: it does not run, and only its data is on the host.
const (
	DrainMoving  DrainStanding = "Moving"
	DrainWaiting DrainStanding = "Waiting"
	DrainStaying DrainStanding = "Staying"
	DrainStopped DrainStanding = "Stopped"
)

// Drain is how far the drain of a host has got.
type Drain struct {
	StartedAt time.Time `json:"startedAt"`
	// StopAt is when what cannot move is stopped; without it, never.
	StopAt      *time.Time `json:"stopAt,omitempty"`
	MaxParallel int        `json:"maxParallel"`
	// Gone counts the workloads that have left, Left those that have not, and Stopped those of the latter that do not run.
	Gone    int `json:"gone"`
	Left    int `json:"left"`
	Stopped int `json:"stopped"`
	// EndedAt is since when nothing runs on the host any more.
	EndedAt *time.Time `json:"endedAt,omitempty"`
	// Workloads are those that are left, the first MaxDrainShown by name.
	Workloads []DrainedWorkload `json:"workloads,omitempty"`
}

// MaxDrainShown is how many workloads a drain shows.
const MaxDrainShown = 20

// DrainedWorkload is one workload that has yet to leave a host, or whose data stays.
type DrainedWorkload struct {
	Name     string        `json:"name"`
	Standing DrainStanding `json:"standing,omitempty"`
	Message  string        `json:"message,omitempty"`
}
