package contract

import (
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
)

// Step is one activity of a kind of workload on its host. Every kind has an activity for each step it lists in
// DeploySteps, and one for each of the others.
type Step string

// The steps. Those from StepCreate to StepAwaitReady mutate and are gated by the reservation's bind.
const (
	// StepPrepare fetches and validates what the deploy needs. It changes nothing that runs: a failed update leaves the
	// old workload running.
	StepPrepare Step = "Prepare"
	// StepCreate makes what StepStart starts: disks, seed, domain. It replaces what earlier fences left.
	StepCreate Step = "Create"
	// StepStart starts it, and creates it first where a kind has no StepCreate.
	StepStart Step = "Start"
	// StepAwaitReady waits until it is healthy or booted.
	StepAwaitReady Step = "AwaitReady"
	// StepStop stops gracefully, then by force.
	StepStop Step = "Stop"
	// StepRemove stops and removes all that Berth made for the workload, and leaves a tombstone. Named volumes stay unless
	// they are to go too.
	StepRemove Step = "Remove"
	// StepAcknowledge lets the host drop a job's ended attempt.
	StepAcknowledge Step = "Acknowledge"
)

// ActivityName is the name of a kind's activity, for example "container.Start" or "vm.Prepare".
func ActivityName(kind v1.Kind, step Step) string {
	switch kind {
	case v1.KindContainer:
		return "container." + string(step)
	case v1.KindVM:
		return "vm." + string(step)
	case v1.KindCompose:
		return "compose." + string(step)
	default:
		return "unknown." + string(step)
	}
}

// Ref says on whose behalf a host activity works. Every host activity of a workload carries it.
type Ref struct {
	Workload   string  `json:"workload"`
	Kind       v1.Kind `json:"kind"`
	Generation int64   `json:"generation"`
	Fence      int64   `json:"fence"`
	// Verb is what the user wanted: VerbRestart makes Start stop a running copy of the same generation first.
	Verb v1.Verb `json:"verb"`
	// Attempt is the number of a job's attempt, from 1; zero for a service.
	Attempt int `json:"attempt,omitempty"`
	// RequestID is that of the request which the action works for, so that logs on both sides can be joined.
	RequestID string `json:"requestId,omitempty"`
}

// StepIn is the input of every step. Spec is set for the deploy's steps, and for Remove and Stop if it is known.
type StepIn struct {
	Ref  Ref         `json:"ref"`
	Spec v1.Workload `json:"spec"`
	// Volumes, with Remove, removes named volumes too.
	Volumes bool `json:"volumes,omitempty"`
	// Last is true for the last step of the action: the host then marks the fence as finished.
	Last bool `json:"last,omitempty"`
	// Since is the fence of the last deploy that succeeded on this host; zero if there was none.
	Since int64 `json:"since,omitempty"`
}

// Anew reports whether what a host made under a fence is to be told of as made: by this action, or by one before it that
// failed, which could not tell.
func (in StepIn) Anew(fence int64) bool {
	return fence == in.Ref.Fence || in.Since > 0 && fence > in.Since
}

// StepOut is the output of every step. Fields that a step does not know stay empty.
type StepOut struct {
	RuntimeID string    `json:"runtimeId,omitempty"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	Addresses []string  `json:"addresses,omitempty"`
	// Ports are the published ports, "8080:80/tcp" each.
	Ports []string `json:"ports,omitempty"`
	// Found says what was found and kept or replaced, for the history.
	Found string `json:"found,omitempty"`
	// Exit is set if a job's attempt had already ended when the step looked.
	Exit *Exit `json:"exit,omitempty"`
	// Kept is what a Remove left to the user, as the host's runtime calls it: volumes by name, disks and paths by path.
	Kept []string `json:"kept,omitempty"`
	// Made are the named volumes, or the managed disks, that this action, or one that failed since the last deploy, has made
	// because the host had none, by the names of the spec.
	Made []string `json:"made,omitempty"`
	// Bytes is how much data the step moved: fetched, or copied.
	Bytes int64 `json:"bytes,omitempty"`
}

// Exit is how a workload ended by itself.
type Exit struct {
	Code int `json:"code"`
	// Outcome is Exited, OutOfMemory, Interrupted or Unknown.
	Outcome v1.Reason `json:"outcome"`
	At      time.Time `json:"at"`
	Message string    `json:"message,omitempty"`
}

// RunState is what a host sees of a workload.
type RunState string

// The run states. Absent means that the runtime says it does not exist; Unobservable that nobody could look.
const (
	RunRunning      RunState = "running"
	RunStarting     RunState = "starting"
	RunUnhealthy    RunState = "unhealthy"
	RunExited       RunState = "exited"
	RunAbsent       RunState = "absent"
	RunUnobservable RunState = "unobservable"
)

// Observation is the full state of a workload as its host sees it, sent as the signal observe. It is ordered by
// (Fence, LeaseNo, Seq): a lower one is dropped.
type Observation struct {
	Host    string   `json:"host"`
	Fence   int64    `json:"fence"`
	LeaseNo int64    `json:"lease"`
	Seq     int64    `json:"seq"`
	BootID  string   `json:"bootId,omitempty"`
	State   RunState `json:"state"`
	Attempt int      `json:"attempt,omitempty"`
	Exit    *Exit    `json:"exit,omitempty"`
	// Restarts counts local restarts since the last deploy.
	Restarts int `json:"restarts,omitempty"`
	// RestartIn is how long the host waits before it starts an exited workload again; zero if it does not.
	RestartIn time.Duration `json:"restartIn,omitempty"`
	StartedAt time.Time     `json:"startedAt,omitzero"`
	Addresses []string      `json:"addresses,omitempty"`
	// Ports are as in StepOut: those that the runtime chose change with a restart.
	Ports []string `json:"ports,omitempty"`
	// Exact is true if it has no addresses and ports but these.
	Exact bool `json:"exact,omitempty"`
	// Repeated says how many observations were folded into this one.
	Repeated int    `json:"repeated,omitempty"`
	Message  string `json:"message,omitempty"`
	// Findings are what else is to be known of it.
	Findings []Finding `json:"findings,omitempty"`
	// Mend is true if the host is to put right what it found. It is not sent.
	Mend bool `json:"-"`
	// Unrecorded is set if the host has no record of the workload, and says nothing else. It is not ordered by the numbers.
	Unrecorded *Unrecorded `json:"unrecorded,omitempty"`
	// Sweep is set if a sweep says it, and not the host's agent: what is wanted is absent. It is not ordered by the numbers.
	Sweep *SweepObservation `json:"sweep,omitempty"`
}

// After reports whether o is later than p.
func (o Observation) After(p Observation) bool {
	if o.Fence != p.Fence {
		return o.Fence > p.Fence
	}
	if o.LeaseNo != p.LeaseNo {
		return o.LeaseNo > p.LeaseNo
	}
	return o.Seq > p.Seq
}

// Down reports whether nothing runs.
func (o Observation) Down() bool { return o.State == RunExited || o.State == RunAbsent }

// PlannedStep is a step with the queue that it runs on.
type PlannedStep struct {
	Step Step
	// Bulk is true for a step that keeps the host's disks busy.
	Bulk bool
}

// DeploySteps are the steps of a deploy after StepPrepare, in order. They mutate, or wait for what was mutated.
func DeploySteps(w v1.Workload) []PlannedStep {
	switch {
	case w.Container != nil && w.Container.HealthCheck != nil:
		return []PlannedStep{{Step: StepStart}, {Step: StepAwaitReady}}
	case w.Container != nil:
		return []PlannedStep{{Step: StepStart}}
	case w.VM != nil && w.VM.Readiness != nil && w.VM.Readiness.When != v1.ReadyRunning:
		return []PlannedStep{{Step: StepCreate, Bulk: true}, {Step: StepStart}, {Step: StepAwaitReady}}
	default:
		return []PlannedStep{{Step: StepCreate, Bulk: true}, {Step: StepStart}}
	}
}

// LateStep tells a workload that its host refused a step, because it had seen a later action. It is a signal.
type LateStep struct {
	Workload string `json:"workload"`
	Host     string `json:"host"`
	Fence    int64  `json:"fence"`
	Step     Step   `json:"step"`
	Message  string `json:"message"`
}
