package contract

import (
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
)

// Finding is something that a host sees of a workload and that a user should know, though it changes no phase. It holds for as
// long as observations have it.
type Finding struct {
	Reason  v1.Reason `json:"reason"`
	Message string    `json:"message"`
	// At is when the workload heard of it first. Hosts leave it empty.
	At time.Time `json:"at,omitzero"`
}
