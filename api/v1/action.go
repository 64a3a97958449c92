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

// ActionView is an action as GET shows it, with its steps.
type ActionView struct {
	Action
	// Steps are in the order in which they were begun.
	Steps []ActionStep      `json:"steps"`
	Links map[string]string `json:"links,omitempty"`
	// Notes say what had to be left out, and why.
	Notes []string `json:"notes,omitempty"`
}

// ActionStep is one activity of an action: its tries together.
type ActionStep struct {
	// Step is the activity, for example "vm.Prepare".
	Step    string  `json:"step"`
	Outcome Outcome `json:"outcome"`
	// Attempts counts its tries.
	Attempts int `json:"attempts,omitempty"`
	// BegunAt is when it was asked for, StartedAt when its last try began: until then its host has not taken it.
	BegunAt   time.Time  `json:"begunAt"`
	StartedAt *time.Time `json:"startedAt,omitempty"`
	EndedAt   *time.Time `json:"endedAt,omitempty"`
	// Bytes is how much data it moved: fetched, or copied.
	Bytes int64 `json:"bytes,omitempty"`
	// Found says what it found and kept or replaced, Kept what a remove left to the user.
	Found string   `json:"found,omitempty"`
	Kept  []string `json:"kept,omitempty"`
	// Failure is why it failed, or why its last try did if a later one is under way or succeeded.
	Failure *StepFailure `json:"failure,omitempty"`
	// Progress is what it last said of itself, while it is open.
	Progress *Progress `json:"progress,omitempty"`
}

// StepFailure is why a try of a step failed.
type StepFailure struct {
	Reason  Reason `json:"reason"`
	Message string `json:"message"`
	Advice  string `json:"advice,omitempty"`
}
