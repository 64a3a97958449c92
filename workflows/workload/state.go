// Package workload is the Workload entity: what a user wants, what was done for it, and what to do next.
package workload

import (
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Wanted is what the user wants of a workload.
type Wanted string

// What can be wanted.
const (
	WantRunning Wanted = "running"
	WantStopped Wanted = "stopped"
	WantRemoved Wanted = "removed"
)

// State is all that a Workload carries from run to run. Its methods are pure: they take the time, and touch nothing else.
type State struct {
	Name     string           `json:"name"`
	Workload v1.Workload      `json:"workload"`
	Digest   string           `json:"digest"`
	Timings  contract.Timings `json:"timings"`

	// Generation counts accepted specs, Seq accepted requests, Fence actions. Fence starts as the time in milliseconds, so
	// that a later life of the same name never takes a number of an earlier one.
	Generation int64 `json:"generation"`
	Seq        int64 `json:"seq"`
	Fence      int64 `json:"fence"`

	// Wanted, Verb and WantedSeq are what the user asked for last, in which words, and by which request.
	Wanted    Wanted  `json:"wanted"`
	Verb      v1.Verb `json:"verb"`
	WantedSeq int64   `json:"wantedSeq"`
	// WantedBy is the id of that request, if it had one.
	WantedBy string `json:"wantedBy,omitempty"`
	// DoneSeq is the request that the last successful action satisfied.
	DoneSeq int64 `json:"doneSeq"`
	// Removed is true once nothing is left anywhere.
	Removed bool `json:"removed,omitempty"`

	Doing *Doing `json:"doing,omitempty"`
	// Home is the host that the workload is on. Its fields stand beside the others.
	Home
	// WaitsSince is when the workload was first refused room everywhere: it is in the queue until it leaves it.
	WaitsSince time.Time `json:"waitsSince,omitzero"`
	// Leaving is the fence with which it leaves the queue; zero once the queue was told.
	Leaving int64 `json:"leaving,omitempty"`
	// Ended is set when the workload ended by itself and is not to be started again without a new request.
	Ended *Ended `json:"ended,omitempty"`
	// RestartAt is when its host starts an exited workload again, LastExit how it last ended by itself.
	RestartAt time.Time `json:"restartAt,omitzero"`
	LastExit  *LastExit `json:"lastExit,omitempty"`
	// Adopting is set while the host is to be given its record again.
	Adopting *Adopting `json:"adopting,omitempty"`
	// Force is set by a remove that does not wait for a host that is away.
	Force bool `json:"force,omitempty"`
	// Volumes are the named volumes that may have been made, in any generation. DropVolumes is set by a remove that takes
	// them away too, and Stayed is what a remove left, as the host calls it.
	Volumes     []string `json:"volumes,omitempty"`
	DropVolumes bool     `json:"dropVolumes,omitempty"`
	Stayed      []string `json:"stayed,omitempty"`
	// Evicting is true while the lost host's ledger is asked to let the workload go; EvictAt is when it is asked again.
	Evicting bool      `json:"evicting,omitempty"`
	EvictAt  time.Time `json:"evictAt,omitzero"`

	// Remains are hosts on which something was left behind.
	Remains []Remain `json:"remains,omitempty"`

	// Failure is the last one of what is wanted now; Tries counts them, NextTry is when the next attempt is due.
	Failure *v1.Failure `json:"failure,omitempty"`
	Tries   int         `json:"tries,omitempty"`
	NextTry time.Time   `json:"nextTry,omitzero"`
	// Repairs counts repairs in a row that did not last; RepairOf is the fence of the deploy that the last one is to replace.
	Repairs  int   `json:"repairs,omitempty"`
	RepairOf int64 `json:"repairOf,omitempty"`

	// Job is set for a job from its first deploy on.
	Job *Job `json:"job,omitempty"`

	CreatedAt time.Time `json:"createdAt"`
	ChangedAt time.Time `json:"changedAt"`
	// Shown is the phase that ChangedAt belongs to.
	Shown v1.Phase `json:"shown"`
	// Conditions are what has happened since the last request that was carried out, oldest first.
	Conditions []Condition `json:"conditions,omitempty"`
	Requests   []Request   `json:"requests,omitempty"`
	// Past are the last actions that ended, oldest first: they are shown when Temporal has forgotten them.
	Past []Past `json:"past,omitempty"`
}

// Doing is the open action.
type Doing struct {
	// Kind is the action's workflow: deploy, stop or remove. Verb is what the user wanted.
	Kind v1.Verb `json:"kind"`
	Verb v1.Verb `json:"verb"`
	// Seq is the request that it works for, Fence its number, Generation the spec that it deploys.
	Seq        int64       `json:"seq"`
	Fence      int64       `json:"fence"`
	Generation int64       `json:"generation"`
	Spec       v1.Workload `json:"spec"`
	Attempt    int         `json:"attempt,omitempty"`
	RequestID  string      `json:"requestId,omitempty"`
	StartedAt  time.Time   `json:"startedAt"`
	// Try counts the tries of the same request, from 1. LaunchedAt is when the action's workflow was begun, after the
	// placement, and RunID names its run, once it has ended.
	Try        int       `json:"try,omitempty"`
	LaunchedAt time.Time `json:"launchedAt,omitzero"`
	RunID      string    `json:"runId,omitempty"`
	// Cancelled is true once the action was cancelled, GivenUp once it was told not to wait for its host.
	Cancelled bool `json:"cancelled,omitempty"`
	GivenUp   bool `json:"givenUp,omitempty"`
	// Stays is true if the action waits for a host that is away, as it was begun by a version that did.
	Stays bool `json:"stays,omitempty"`
	// Volumes is true if a remove takes named volumes away too.
	Volumes bool           `json:"volumes,omitempty"`
	Needs   contract.Needs `json:"needs"`
	// Relocate, StopFirst, Leave and Remain are as in Step.
	Relocate  bool   `json:"relocate,omitempty"`
	StopFirst bool   `json:"stopFirst,omitempty"`
	Leave     bool   `json:"leave,omitempty"`
	Remain    string `json:"remain,omitempty"`
	// From is the host that a relocation moves away from, once it has another one. Gone is true once nothing is left there.
	From *Home `json:"from,omitempty"`
	Gone bool  `json:"gone,omitempty"`
	// Exact is true if the host's ledger holds just Needs once the action has bound its grant.
	Exact bool `json:"exact,omitempty"`
}

// Placement is the host that the workload is on.
type Placement struct {
	Host     string `json:"host"`
	Instance string `json:"instance"`
	// Mutated is false as long as nothing can have been made there.
	Mutated bool `json:"mutated"`
	// Active is true while something may run there.
	Active bool `json:"active"`
}

// Deployed is a deploy that succeeded.
type Deployed struct {
	Generation int64          `json:"generation"`
	Fence      int64          `json:"fence"`
	At         time.Time      `json:"at"`
	Attempt    int            `json:"attempt,omitempty"`
	Addresses  []string       `json:"addresses,omitempty"`
	Ports      []string       `json:"ports,omitempty"`
	Needs      contract.Needs `json:"needs"`
}

// Ended says how a workload ended by itself, or why a job will not be tried again.
type Ended struct {
	Phase   v1.Phase  `json:"phase"`
	Reason  v1.Reason `json:"reason"`
	Message string    `json:"message"`
	Code    *int      `json:"code,omitempty"`
}

// LastExit is how what a fence deployed last ended by itself.
type LastExit struct {
	Fence int64         `json:"fence"`
	Exit  contract.Exit `json:"exit"`
}

// Job is what a job's attempts add up to.
type Job struct {
	// Attempts are the latest ones, oldest first; Count counts all of the current series.
	Attempts []v1.Attempt `json:"attempts"`
	Count    int          `json:"count"`
	// Numbered is the number of the last attempt. A host tells attempts apart by it, so it is never given twice, also when
	// a new series begins.
	Numbered int `json:"numbered"`
	// StartedAt is the first start of the series; the deadline counts from it.
	StartedAt time.Time `json:"startedAt,omitzero"`
	// Unacknowledged is an ended attempt whose remains the host still keeps.
	Unacknowledged *Attempt `json:"unacknowledged,omitempty"`
	// Acknowledging is true while the host is being told. The run does not continue as new meanwhile.
	Acknowledging bool      `json:"acknowledging,omitempty"`
	AckTries      int       `json:"ackTries,omitempty"`
	AckAt         time.Time `json:"ackAt,omitzero"`
}

// Attempt names one attempt of a job on its host.
type Attempt struct {
	Fence  int64 `json:"fence"`
	Number int   `json:"number"`
}

// Request is an answered request, so that a repeat gets the same answer.
type Request struct {
	ID     string            `json:"id"`
	Answer contract.Accepted `json:"answer"`
}

const (
	keepRequests = 100
	keepAttempts = 20
)

// Busy reports whether something is under way that a new run could not carry on.
func (s *State) Busy() bool {
	return s.Doing != nil || s.Evicting || s.Adopting != nil && s.Adopting.Asked || s.Job != nil && s.Job.Acknowledging
}

func (s *State) isJob() bool {
	c := s.Workload.Spec()
	return c != nil && c.Type == v1.TypeJob
}

// mint takes the next fence.
func (s *State) mint(now time.Time) int64 {
	if s.Fence == 0 {
		s.Fence = now.UnixMilli()
	}
	s.Fence++
	return s.Fence
}

func (s *State) answered(id string) (contract.Accepted, bool) {
	if id == "" {
		return contract.Accepted{}, false
	}
	for _, r := range s.Requests {
		if r.ID == id {
			return r.Answer, true
		}
	}
	return contract.Accepted{}, false
}

func (s *State) answer(id string, changed contract.Changed) contract.Accepted {
	a := contract.Accepted{Generation: s.Generation, Changed: changed, Seq: s.Seq}
	if id != "" {
		s.Requests = append(s.Requests, Request{ID: id, Answer: a})
		if n := len(s.Requests) - keepRequests; n > 0 {
			s.Requests = s.Requests[n:]
		}
	}
	return a
}
