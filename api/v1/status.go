package v1

import "time"

// Phase is where a workload stands.
type Phase string

// The phases of a workload.
const (
	PhasePending   Phase = "Pending"
	PhaseDeploying Phase = "Deploying"
	PhaseRunning   Phase = "Running"
	PhaseDegraded  Phase = "Degraded"
	PhaseStopping  Phase = "Stopping"
	PhaseStopped   Phase = "Stopped"
	PhaseSucceeded Phase = "Succeeded"
	PhaseFailed    Phase = "Failed"
	PhaseLost      Phase = "Lost"
	PhaseRemoving  Phase = "Removing"
	PhaseRemoved   Phase = "Removed"
)

// Reason is a machine-readable word beside a phase or in an error.
type Reason string

// The reasons. Each failure that reaches a user carries one.
const (
	ReasonNone               Reason = ""
	ReasonInvalid            Reason = "Invalid"
	ReasonNoCapacity         Reason = "NoCapacity"
	ReasonNoMatchingHost     Reason = "NoMatchingHost"
	ReasonImageNotFound      Reason = "ImageNotFound"
	ReasonImageInvalid       Reason = "ImageInvalid"
	ReasonDigestMismatch     Reason = "DigestMismatch"
	ReasonFetchFailed        Reason = "FetchFailed"
	ReasonFetchStalled       Reason = "FetchStalled"
	ReasonDiskFull           Reason = "DiskFull"
	ReasonRuntimeUnavailable Reason = "RuntimeUnavailable"
	ReasonRuntimeError       Reason = "RuntimeError"
	ReasonBootTimeout        Reason = "BootTimeout"
	ReasonUnhealthy          Reason = "Unhealthy"
	ReasonExited             Reason = "Exited"
	ReasonOutOfMemory        Reason = "OutOfMemory"
	ReasonInterrupted        Reason = "Interrupted"
	ReasonUnknown            Reason = "Unknown"
	ReasonDeadlineExceeded   Reason = "DeadlineExceeded"
	ReasonHostLost           Reason = "HostLost"
	ReasonHostOffline        Reason = "HostOffline"
	ReasonHostDraining       Reason = "HostDraining"
	ReasonStaleFence         Reason = "StaleFence"
	ReasonPolicyDenied       Reason = "PolicyDenied"
	ReasonPortConflict       Reason = "PortConflict"
	ReasonImmutable          Reason = "Immutable"
	ReasonNotFound           Reason = "NotFound"
	ReasonAlreadyRemoving    Reason = "AlreadyRemoving"
	ReasonGenerationMismatch Reason = "GenerationMismatch"
	ReasonSuperseded         Reason = "Superseded"
	ReasonSweepRunning       Reason = "SweepRunning"
	ReasonUserStopped        Reason = "UserStopped"
	ReasonTooManyRequests    Reason = "TooManyRequests"
	ReasonUnavailable        Reason = "Unavailable"
	ReasonUnauthorized       Reason = "Unauthorized"
	ReasonForbidden          Reason = "Forbidden"
	ReasonDisconnected       Reason = "Disconnected"
	ReasonRecordMissing      Reason = "RecordMissing"
	ReasonUndefined          Reason = "Undefined"
	ReasonMalformedSignal    Reason = "MalformedSignal"
	ReasonCancelIgnored      Reason = "CancelIgnored"
	ReasonInternal           Reason = "Internal"
)

// Failure is an error as a user sees it.
type Failure struct {
	Reason  Reason `json:"reason"`
	Message string `json:"message"`
	// Advice says what to do about it.
	Advice string `json:"advice,omitempty"`
	// Step is what was tried, for example "Prepare".
	Step string `json:"step,omitempty"`
	// Permanent failures are not tried again before a new spec or a retry.
	Permanent bool      `json:"permanent,omitempty"`
	At        time.Time `json:"at"`
}

// Status is where a workload stands. It lives in the memo of the workload's workflow (at most 2 KB).
type Status struct {
	Phase   Phase  `json:"phase"`
	Reason  Reason `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Advice  string `json:"advice,omitempty"`
	Host    string `json:"host,omitempty"`
	Type    Type   `json:"type,omitempty"`
	// Generation counts accepted specs; RunningGeneration is the one that was last deployed successfully.
	Generation        int64 `json:"generation"`
	RunningGeneration int64 `json:"runningGeneration,omitempty"`
	Fence             int64 `json:"fence"`
	// Seq is the last accepted request that this status has seen, as Accepted counts them. Settled says that all that
	// was asked for has been carried out.
	Seq     int64 `json:"seq,omitempty"`
	Settled bool  `json:"settled,omitempty"`
	// SpecDigest is the SHA-256 of the canonical spec, in hex.
	SpecDigest string    `json:"specDigest,omitempty"`
	CreatedAt  time.Time `json:"createdAt"`
	// ChangedAt is when the phase last changed.
	ChangedAt time.Time  `json:"changedAt"`
	StartedAt *time.Time `json:"startedAt,omitempty"`
	// Action is the open action, if any.
	Action *ActionRef `json:"action,omitempty"`
	// Tries counts the failures in a row of what is wanted now; NextTry is when it is tried again.
	Tries   int        `json:"tries,omitempty"`
	NextTry *time.Time `json:"nextTry,omitempty"`
	// Permanent is true if what is wanted has failed for good: nothing is tried again before a new spec or a retry.
	Permanent bool `json:"permanent,omitempty"`
	// Restarts counts restarts on the host since the last deploy.
	Restarts int `json:"restarts,omitempty"`
	// ExitCode is set when the workload ended by itself.
	ExitCode *int `json:"exitCode,omitempty"`
	// Attempt is the number of a job's attempt, from 1.
	Attempt int `json:"attempt,omitempty"`
	// Addresses are the guest's or container's IP addresses, as far as known. What does not run has none, and no ports.
	Addresses []string `json:"addresses,omitempty"`
	// Ports are the published ports as the host gave them, "8080:80/tcp" each; at most 16.
	Ports []string `json:"ports,omitempty"`
	// Conditions are things that a user should know and that change nothing, at most 3. What the host sees is there as long as
	// it holds; what has happened once, for example a malformed signal, until a later request has been carried out.
	Conditions []Condition `json:"conditions,omitempty"`
}

// Condition is something a user should know that changes nothing by itself.
type Condition struct {
	Reason  Reason    `json:"reason"`
	Message string    `json:"message"`
	At      time.Time `json:"at"`
}

// ActionRef names an open action.
type ActionRef struct {
	ID        string    `json:"id"`
	Verb      Verb      `json:"verb"`
	StartedAt time.Time `json:"startedAt"`
}

// Attempt is one run of a job, kept with its outcome.
type Attempt struct {
	Number    int        `json:"number"`
	Fence     int64      `json:"fence"`
	Host      string     `json:"host"`
	StartedAt time.Time  `json:"startedAt"`
	EndedAt   *time.Time `json:"endedAt,omitempty"`
	ExitCode  *int       `json:"exitCode,omitempty"`
	// Outcome is Succeeded, Failed, OutOfMemory, Interrupted, Unknown or DeadlineExceeded; empty while it runs.
	Outcome string `json:"outcome,omitempty"`
}

// View is a workload as GET shows it.
type View struct {
	APIVersion string            `json:"apiVersion"`
	Kind       Kind              `json:"kind"`
	Metadata   Metadata          `json:"metadata"`
	Status     Status            `json:"status"`
	Progress   []Progress        `json:"progress,omitempty"`
	Attempts   []Attempt         `json:"attempts,omitempty"`
	Spec       any               `json:"spec,omitempty"`
	Links      map[string]string `json:"links,omitempty"`
	// Notes say what had to be left out, and why.
	Notes []string `json:"notes,omitempty"`
}

// Progress is what a step of an open action reports while it runs: the details of its last heartbeat.
type Progress struct {
	// Step is the activity, for example "vm.Prepare".
	Step string `json:"step"`
	// Detail says what is being done, for example "fetching base.qcow2".
	Detail string `json:"detail,omitempty"`
	// Done and Total are bytes, or milliseconds when Unit is "ms". Total is zero if it is unknown.
	Done  int64  `json:"done"`
	Total int64  `json:"total,omitempty"`
	Unit  string `json:"unit,omitempty"`
	// Attempt counts from 1; LastFailure is why the attempt before failed.
	Attempt     int    `json:"attempt,omitempty"`
	LastFailure string `json:"lastFailure,omitempty"`
}
