package contract

import (
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
)

// HostDrain tells a workload to leave its host, or to stay after all. It is a signal, from Host.
type HostDrain struct {
	Host string `json:"host"`
	// Seq counts what the host tells of its drains: a lower one than one seen is ignored.
	Seq int64 `json:"seq"`
	// StopAt is when what cannot move is stopped; zero for never.
	StopAt time.Time `json:"stopAt,omitzero"`
	// Left is true if the host's agent has said goodbye: nothing can be stopped there.
	Left bool `json:"left,omitempty"`
	// Cancelled is true if the drain is over.
	Cancelled bool `json:"cancelled,omitempty"`
}

// DrainStanding answers HostDrain, and is sent again whenever it changes. It is a signal, from Workload. That a workload has
// left shows by its release.
type DrainStanding struct {
	Workload string           `json:"workload"`
	Seq      int64            `json:"seq"`
	Standing v1.DrainStanding `json:"standing"`
	Message  string           `json:"message,omitempty"`
}
