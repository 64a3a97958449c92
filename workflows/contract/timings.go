package contract

import "time"

// Timings are the fleet-wide durations. They are carried in workflow state, never read from configuration inside a
// workflow.
type Timings struct {
	// Beat is how often an agent renews its lease.
	Beat time.Duration `json:"beat"`
	// Lease is how long a lease lasts without a beat.
	Lease time.Duration `json:"lease"`
	// Grace is how long a lost host's workloads wait before any move.
	Grace time.Duration `json:"grace"`
	// Grant is how long a reservation lasts unless it is bound.
	Grant time.Duration `json:"grant"`
	// BackoffMin and BackoffMax bound the entity's backoff.
	BackoffMin time.Duration `json:"backoffMin"`
	BackoffMax time.Duration `json:"backoffMax"`
	// ActivityHeartbeat is the heartbeat timeout of host activities.
	ActivityHeartbeat time.Duration `json:"activityHeartbeat"`
	// ContinueAsNewAt is the number of history events after which an entity continues as new.
	ContinueAsNewAt int `json:"continueAsNewAt"`
}

// DefaultTimings are the timings of a production fleet.
func DefaultTimings() Timings {
	return Timings{
		Beat: 5 * time.Second, Lease: 15 * time.Second, Grace: 45 * time.Second, Grant: 30 * time.Second,
		BackoffMin: time.Second, BackoffMax: 15 * time.Minute,
		ActivityHeartbeat: 15 * time.Second,
		ContinueAsNewAt:   500,
	}
}

// MaxHeartbeatThrottle is how seldom a worker may send an activity's heartbeats. The SDK gives each call as long, and
// cancels the activity when it fails: well below ActivityHeartbeat, and at least a second.
const MaxHeartbeatThrottle = 3 * time.Second
