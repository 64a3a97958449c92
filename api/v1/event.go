package v1

import "time"

// EventType is what kind of change an event tells of.
type EventType string

// The types of events.
const (
	// EventAccepted is a request that changes what is wanted.
	EventAccepted EventType = "Accepted"
	// EventPhase is a change of the phase or its reason.
	EventPhase EventType = "Phase"
	// EventPlaced is a host that was found.
	EventPlaced EventType = "Placed"
	// EventActionStarted and EventActionEnded are of deploys, stops and removes.
	EventActionStarted EventType = "ActionStarted"
	EventActionEnded   EventType = "ActionEnded"
	// EventObserved is what the host saw happen: an exit, a failing health check, something that is gone.
	EventObserved EventType = "Observed"
	// EventCondition is something that a user should know and that changes nothing.
	EventCondition EventType = "Condition"
	// EventEnded is the last one: nothing follows.
	EventEnded EventType = "Ended"
)

// Event is one change of a workload. Fields that do not belong to its type stay empty.
type Event struct {
	// ID names the event for good, also over the runs of the workload's workflow: what follows it can be asked for.
	ID   string    `json:"id"`
	At   time.Time `json:"at"`
	Type EventType `json:"type"`
	// Message says it in words.
	Message string  `json:"message"`
	Phase   Phase   `json:"phase,omitempty"`
	Reason  Reason  `json:"reason,omitempty"`
	Host    string  `json:"host,omitempty"`
	Verb    Verb    `json:"verb,omitempty"`
	Action  string  `json:"action,omitempty"`
	Outcome Outcome `json:"outcome,omitempty"`
	// Generation and RequestID are of an accepted request.
	Generation int64  `json:"generation,omitempty"`
	RequestID  string `json:"requestId,omitempty"`
	// ExitCode is of an observed exit.
	ExitCode *int `json:"exitCode,omitempty"`
}

// EventList is one page of a workload's events, oldest first.
type EventList struct {
	Items []Event `json:"items"`
	// NextPageToken asks for the events before these; it is empty when Temporal has none.
	NextPageToken string `json:"nextPageToken,omitempty"`
}
