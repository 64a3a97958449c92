package v1

import "time"

// Verb is what a user, or Berth itself, wanted of a workload.
type Verb string

// The verbs. Deploy, start, restart and relocate are all carried out by the Deploy workflow.
const (
	VerbDeploy   Verb = "deploy"
	VerbStart    Verb = "start"
	VerbRestart  Verb = "restart"
	VerbRetry    Verb = "retry"
	VerbRelocate Verb = "relocate"
	VerbStop     Verb = "stop"
	VerbRemove   Verb = "remove"
)

// Outcome is how an action ended.
type Outcome string

// The outcomes of an action. OutcomeRunning is the outcome of one that is open.
const (
	OutcomeRunning    Outcome = "Running"
	OutcomeSucceeded  Outcome = "Succeeded"
	OutcomeFailed     Outcome = "Failed"
	OutcomeSuperseded Outcome = "Superseded"
)

// Action is one operation on a workload, as the list of actions shows it.
type Action struct {
	ID       string `json:"id"`
	RunID    string `json:"runId"`
	Workload string `json:"workload"`
	Kind     Kind   `json:"kind,omitempty"`
	Verb     Verb   `json:"verb"`
	Host     string `json:"host,omitempty"`
	Fence    int64  `json:"fence"`
	// Generation is the accepted spec that the action worked with.
	Generation int64 `json:"generation,omitempty"`
	// Attempts says which try of the same request this is, from 1.
	Attempts int     `json:"attempts,omitempty"`
	Outcome  Outcome `json:"outcome"`
	// Reason, Message and Step say why it failed, and during what.
	Reason  Reason `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Step    string `json:"step,omitempty"`
	// CreatedAt is when the workload turned to it, StartedAt when it was placed and its steps began.
	CreatedAt time.Time  `json:"createdAt,omitzero"`
	StartedAt time.Time  `json:"startedAt"`
	EndedAt   *time.Time `json:"endedAt,omitempty"`
}
