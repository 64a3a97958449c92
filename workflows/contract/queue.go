package contract

import (
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
)

// QueueID is the workflow id of the one queue of the fleet.
const QueueID = "fleet/queue"

// QueueInput starts the queue.
type QueueInput struct {
	ContinueAsNewAt int `json:"continueAsNewAt"`
}

// Waiter is a workload that was refused everywhere.
type Waiter struct {
	Workload string `json:"workload"`
	Fence    int64  `json:"fence"`
	Priority int    `json:"priority,omitempty"`
	// Since is when it was first refused: it keeps its place while it waits.
	Since     time.Time     `json:"since"`
	Needs     Needs         `json:"needs"`
	Placement *v1.Placement `json:"placement,omitempty"`
	// Pinned is the only host that it may run on, because its data is there.
	Pinned string `json:"pinned,omitempty"`
	// Instance, if set, is the machine of that host that has the data.
	Instance string `json:"instance,omitempty"`
}

// Request is what a waiter will ask of a host.
func (w Waiter) Request() ReserveRequest {
	return ReserveRequest{Workload: w.Workload, Fence: w.Fence, Needs: w.Needs, Placement: w.Placement, Instance: w.Instance}
}

// LeaveQueue says that a workload waits no more: it was placed, stopped or removed.
type LeaveQueue struct {
	Workload string `json:"workload"`
	Fence    int64  `json:"fence"`
}

// Room is what a host says of itself when it may have room for somebody: after a release, an uncordon, or when it comes
// online.
type Room struct {
	Host   string            `json:"host"`
	Free   v1.Amounts        `json:"free"`
	Labels map[string]string `json:"labels,omitempty"`
	Kinds  []v1.Kind         `json:"kinds,omitempty"`
	// Guard is true if the host takes strict workloads.
	Guard bool `json:"guard,omitempty"`
}

// AskAhead asks whether anybody in the queue goes before a newcomer that a host would have room for.
type AskAhead struct {
	Host     Room   `json:"host"`
	Newcomer Waiter `json:"newcomer"`
}

// Ahead are those who go before, in their order, as far as the queue can tell. Only the host's ledger knows whether it would
// take one of them, and that alone keeps the newcomer out.
type Ahead struct {
	Waiters []Waiter `json:"waiters,omitempty"`
}
