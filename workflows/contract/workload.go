package contract

import (
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
)

// WorkloadInput starts a Workload workflow with its first apply. Later runs carry their state instead.
type WorkloadInput struct {
	Apply   *ApplyRequest `json:"apply,omitempty"`
	Timings Timings       `json:"timings"`
}

// ApplyRequest asks for a spec to run. A repeat with the same RequestID gets the first answer.
type ApplyRequest struct {
	RequestID string      `json:"requestId"`
	Workload  v1.Workload `json:"workload"`
	// IfGeneration, if set, must be the current generation.
	IfGeneration *int64 `json:"ifGeneration,omitempty"`
}

// VerbRequest asks for start, stop, restart, retry or remove. A repeat with the same RequestID gets the first answer.
type VerbRequest struct {
	RequestID string `json:"requestId,omitempty"`
	// Force, with remove, does not wait for a host that is away: what is there becomes the host's debt.
	Force bool `json:"force,omitempty"`
	// Volumes, with remove, removes named volumes too.
	Volumes bool `json:"volumes,omitempty"`
	// IfGeneration, if set, must be the current generation.
	IfGeneration *int64 `json:"ifGeneration,omitempty"`
}

// Changed says what an apply did.
type Changed string

// What an apply did.
const (
	ChangedCreated   Changed = "created"
	ChangedUpdated   Changed = "updated"
	ChangedUnchanged Changed = "unchanged"
)

// Accepted answers an apply or a verb as soon as it is recorded; waiting for its effect is the client's.
type Accepted struct {
	Generation int64   `json:"generation"`
	Changed    Changed `json:"changed,omitempty"`
	// Seq counts the accepted requests of a workload: a status whose Seq is at least this one has seen the request.
	Seq int64 `json:"seq"`
	// Kept, with remove, is what will stay on the host. Volumes are named as in the spec.
	Kept []v1.Kept `json:"kept,omitempty"`
}

// WorkloadMeta is the memo field MemoMeta of a workload.
type WorkloadMeta struct {
	Kind   v1.Kind           `json:"kind"`
	Labels map[string]string `json:"labels,omitempty"`
}

// WorkloadFull answers the query QueryWorkloadFull.
type WorkloadFull struct {
	Workload v1.Workload  `json:"workload"`
	Status   v1.Status    `json:"status"`
	Attempts []v1.Attempt `json:"attempts,omitempty"`
	// Timings are those that the workload took at its first apply.
	Timings Timings `json:"timings,omitzero"`
}

// PlaceIn is the input of the activity Place.
type PlaceIn struct {
	Reserve ReserveRequest `json:"reserve"`
	// Pinned, if set, is the only host to ask: what the workload left behind is there. The reserve names the instance.
	Pinned string `json:"pinned,omitempty"`
	// Leaves, if set, is a host that the workload is to leave: it is not asked.
	Leaves string `json:"leaves,omitempty"`
	// Prefer is asked first.
	Prefer string `json:"prefer,omitempty"`
	// Priority and Since are the workload's place among those who wait for room.
	Priority int       `json:"priority,omitempty"`
	Since    time.Time `json:"since,omitzero"`
}

// PlaceOut says who granted.
type PlaceOut struct {
	Host     string `json:"host"`
	Instance string `json:"instance"`
	// Queued is true if the workload was put into the queue on the way, and has to leave it.
	Queued bool `json:"queued,omitempty"`
	// Exact is as in ReserveReply.
	Exact bool `json:"exact,omitempty"`
}

// ActionIn is the input of Deploy, Stop and Remove. Before a Deploy the entity has reserved the host and recorded it.
type ActionIn struct {
	Ref      Ref         `json:"ref"`
	Host     string      `json:"host"`
	Instance string      `json:"instance"`
	Spec     v1.Workload `json:"spec"`
	Timings  Timings     `json:"timings"`
	// CreatedAt is when the entity began the action, Attempts which try of the same request it is.
	CreatedAt time.Time `json:"createdAt,omitzero"`
	Attempts  int       `json:"attempts,omitempty"`
	// Volumes, with Remove, removes named volumes too.
	Volumes bool `json:"volumes,omitempty"`
	// Since is the fence of the last deploy that succeeded on this host; zero if there was none.
	Since int64 `json:"since,omitempty"`
}

// Shown is the action as lists show it while it is open.
func (in ActionIn) Shown(id string, started time.Time) v1.Action {
	return v1.Action{
		ID: id, Workload: in.Ref.Workload, Kind: in.Ref.Kind, Verb: in.Ref.Verb, Host: in.Host, Fence: in.Ref.Fence,
		Generation: in.Ref.Generation, Attempts: in.Attempts, Outcome: v1.OutcomeRunning, CreatedAt: in.CreatedAt, StartedAt: started,
	}
}

// ActionWorkflow is the type of the workflow that carries an action out.
func ActionWorkflow(action v1.Verb) string {
	switch action {
	case v1.VerbStop:
		return WorkflowStop
	case v1.VerbRemove:
		return WorkflowRemove
	default:
		return WorkflowDeploy
	}
}
