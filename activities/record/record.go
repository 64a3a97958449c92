// Package record keeps what a host knows of each workload: the highest fence that it has seen, what is wanted, and how
// the last action ended. It is the host's side of fencing: every mutation is checked against it under the workload's lock.
package record

import (
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Wanted is what the control plane wants of a workload on this host.
type Wanted string

// What can be wanted.
const (
	WantedRunning Wanted = "running"
	WantedStopped Wanted = "stopped"
	WantedRemoved Wanted = "removed"
)

// Record is the state of one workload on this host. It holds the spec, and so secrets: its file is for root only.
type Record struct {
	Fleet      string  `json:"fleet"`
	Host       string  `json:"host"`
	Workload   string  `json:"workload"`
	Kind       v1.Kind `json:"kind"`
	Generation int64   `json:"generation"`
	// Fence is the highest fence under which a mutation was begun.
	Fence int64   `json:"fence"`
	Verb  v1.Verb `json:"verb"`
	// Open is true from an action's first mutation until its last step is done. While it is, the host repairs nothing
	// by itself.
	Open   bool   `json:"open"`
	Wanted Wanted `json:"wanted"`
	// Spec is what was last deployed; nil after a remove.
	Spec *v1.Workload `json:"spec,omitempty"`
	// RuntimeID is the container's id or the domain's UUID, once it is known.
	RuntimeID string `json:"runtimeId,omitempty"`
	// Attempt is the number of a job's attempt; zero for a service.
	Attempt int `json:"attempt,omitempty"`
	// Launched is the last start that must not be repeated, written just before it: that of a job's attempt, or a restart.
	Launched Launch `json:"launched,omitzero"`
	// Exit is how the current attempt of a job, or a service that is not restarted, ended.
	Exit *contract.Exit `json:"exit,omitempty"`
	// Acked is the last attempt of a job whose end the control plane has recorded.
	Acked int `json:"acked,omitempty"`
	// Restarts counts local restarts since the last deploy.
	Restarts int `json:"restarts,omitempty"`
	// FinishedStep and FinishedOut are the last step of the last finished action and its result, so that a retry whose
	// answer was lost gets the same one.
	Finished     int64             `json:"finished,omitempty"`
	FinishedStep contract.Step     `json:"finishedStep,omitempty"`
	FinishedOut  *contract.StepOut `json:"finishedOut,omitempty"`
	// DropVolumes is the fence of the last remove that was to take named volumes away too; zero if there was none.
	DropVolumes int64 `json:"dropVolumes,omitempty"`
	// RemovedAt is set on a tombstone.
	RemovedAt time.Time `json:"removedAt,omitzero"`
}

// Launch names one start of a workload.
type Launch struct {
	Generation int64 `json:"generation"`
	Attempt    int   `json:"attempt,omitempty"`
	Fence      int64 `json:"fence"`
}

// Tombstone reports whether the workload was removed from this host.
func (r Record) Tombstone() bool { return !r.RemovedAt.IsZero() }

// Acknowledged reports whether the control plane has recorded how the current attempt of a job ended: nothing more is to be
// told of it.
func (r Record) Acknowledged() bool { return r.Attempt > 0 && r.Acked == r.Attempt }

// Admit says whether a step with this fence may act: nil if so, and contract.StaleFence if a later action was seen or the
// fence's own action is finished. A retry of the very step that finished it gets that step's result. A remove that is to take
// volumes too is no retry of one that was to keep them: a fleet whose database was put back may number it alike.
func (r Record) Admit(in contract.StepIn, step contract.Step) (*contract.StepOut, error) {
	fence := in.Ref.Fence
	switch {
	case fence < r.Fence:
		return nil, contract.StaleFence(fence, r.Fence)
	case fence > r.Finished:
		return nil, nil
	case step == contract.StepAcknowledge:
		return nil, nil // it follows the end of the action whose attempt it acknowledges
	case step == r.FinishedStep && (!in.Volumes || r.DropVolumes == fence):
		return r.FinishedOut, nil
	default:
		return nil, contract.StaleFence(fence, r.Finished)
	}
}

// Begin returns the record as it stands once an action's mutation is under way.
func (r Record) Begin(in contract.StepIn, step contract.Step) Record {
	first := in.Ref.Fence > r.Fence || !r.Open
	r.Kind, r.Generation, r.Fence, r.Verb = in.Ref.Kind, in.Ref.Generation, in.Ref.Fence, in.Ref.Verb
	r.Open = true
	switch step {
	case contract.StepStop:
		r.Wanted = WantedStopped
	case contract.StepRemove:
		r.Wanted = WantedRemoved
		if in.Volumes {
			r.DropVolumes = in.Ref.Fence
		}
	default:
		spec := in.Spec
		r.Wanted, r.Spec, r.RemovedAt = WantedRunning, &spec, time.Time{}
		if first {
			r.Attempt, r.Restarts, r.Exit = in.Ref.Attempt, 0, nil
		}
	}
	return r
}

// Finish returns the record as it stands once an action's last step is done.
func (r Record) Finish(step contract.Step, out contract.StepOut, now time.Time) Record {
	r.Open, r.Finished, r.FinishedStep, r.FinishedOut = false, r.Fence, step, &out
	if out.RuntimeID != "" {
		r.RuntimeID = out.RuntimeID
	}
	if step == contract.StepRemove {
		r.RemovedAt, r.Spec, r.RuntimeID, r.Exit = now, nil, "", nil
	}
	return r
}
