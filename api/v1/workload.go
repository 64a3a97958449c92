// Package v1 holds Berth's words: what a user submits, and what Berth answers.
// It depends on the standard library only, so that every other package may use it.
package v1

// APIVersion is the only version that this package reads and writes.
const APIVersion = "berth/v1"

// Kind says what a workload is made of.
type Kind string

// The kinds of workload. KindCompose is reserved: validation refuses it until it is built.
const (
	KindContainer Kind = "Container"
	KindVM        Kind = "VM"
	KindCompose   Kind = "Compose"
)

// Type says whether a workload is kept running or runs to an end.
type Type string

// The types of workload.
const (
	TypeService Type = "service"
	TypeJob     Type = "job"
)

// Workload is what a user submits. On the wire its spec stands under "spec", and its shape follows from the kind;
// here exactly one of Container and VM is set (see codec.go).
type Workload struct {
	APIVersion string
	Kind       Kind
	Metadata   Metadata
	Container  *ContainerSpec
	VM         *VMSpec
}

// Metadata names a workload and carries the user's labels.
type Metadata struct {
	// Name is unique in the fleet: a DNS label, at most 63 characters.
	Name string `json:"name"`
	// Labels are free for the user; lists can be filtered by them.
	Labels map[string]string `json:"labels,omitempty"`
}

// Common is what the specs of all kinds share.
type Common struct {
	// Type is service (the default) or job.
	Type Type `json:"type,omitempty"`
	// Job limits a job; it is refused for a service.
	Job *JobPolicy `json:"job,omitempty"`
	// Restart says what happens when the workload ends by itself. Default: always for a service, no for a job.
	Restart *RestartPolicy `json:"restart,omitempty"`
	// Placement says on which hosts it may run. Default: on any.
	Placement *Placement `json:"placement,omitempty"`
	// Priority orders those who wait for room, higher first: -1000 to 1000.
	Priority int `json:"priority,omitempty"`
	// OnHostLoss says what happens when the host is lost: wait for it, or reschedule on another host. What has data on its
	// host can only wait. Default: reschedule where possible, for containers; wait for virtual machines.
	OnHostLoss OnHostLoss `json:"onHostLoss,omitempty"`
	// MoveAfter is how long a lost host is waited for before a move; at least the fleet's grace. Default 5m.
	MoveAfter Duration `json:"moveAfter,omitempty"`
	// Strict promises at most one copy at any moment, also while hosts are lost: a host that is cut off stops it itself before
	// it starts elsewhere. Only for what moves when its host is lost.
	Strict bool `json:"strict,omitempty"`
	// StopGracePeriod is how long a graceful stop may take before it is forced. Default 10s for a container, 60s for a VM.
	StopGracePeriod Duration `json:"stopGracePeriod,omitempty"`
}

// JobPolicy limits the attempts and the time of a job.
type JobPolicy struct {
	// MaxAttempts is how often the job may be started in all. Default 1.
	MaxAttempts int `json:"maxAttempts,omitempty"`
	// Deadline ends the job, counted from its first start over all attempts. Zero means none.
	Deadline Duration `json:"deadline,omitempty"`
}

// OnHostLoss says what happens to a workload whose host is lost.
type OnHostLoss string

// What can happen on the loss of a host.
const (
	LossWait       OnHostLoss = "wait"
	LossReschedule OnHostLoss = "reschedule"
)

// RestartMode is Docker's vocabulary of restart policies.
type RestartMode string

// The restart modes.
const (
	RestartNo            RestartMode = "no"
	RestartAlways        RestartMode = "always"
	RestartOnFailure     RestartMode = "on-failure"
	RestartUnlessStopped RestartMode = "unless-stopped"
)

// RestartPolicy says what happens when a workload ends by itself.
type RestartPolicy struct {
	Policy RestartMode `json:"policy"`
	// MaxRetries bounds on-failure. Zero means no bound.
	MaxRetries int `json:"maxRetries,omitempty"`
}

// Spec returns the fields that all kinds share, or nil for a workload without a spec. The result is not a copy.
func (w *Workload) Spec() *Common {
	switch {
	case w == nil:
		return nil
	case w.Container != nil:
		return &w.Container.Common
	case w.VM != nil:
		return &w.VM.Common
	default:
		return nil
	}
}
