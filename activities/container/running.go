package container

import "sync"

// running are the containers that were seen to run, by their ids: that one is connected to a network, or disconnected, is told
// by its id only. With a start or an end that is told as well, and says nothing more than they do.
type running struct {
	mu       sync.Mutex
	workload map[string]string
}

// note notes that a workload runs in a container, or in none if id is empty.
func (r *running) note(workload, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for other, w := range r.workload {
		if w == workload && other != id {
			delete(r.workload, other)
		}
	}
	if id != "" {
		r.workload[id] = workload
	}
}

// by is the workload that runs in a container; empty if none does.
func (r *running) by(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.workload[id]
}

func (r *Runtime) noteRuns(workload string, k Container) {
	if k.Runs() {
		r.runs.note(workload, k.ID)
		return
	}
	r.runs.note(workload, "")
}
