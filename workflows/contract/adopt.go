package contract

// ActivityAdopt runs on a host's control queue. Its input is a StepIn with the fence and the generation that were deployed last.
const ActivityAdopt = "Adopt"

// Unrecorded says that a host holds what a workload ran as, with its own mark, and has no record of the workload: somebody
// removed it. Without its record nobody there looks after the workload.
type Unrecorded struct {
	// Generation and Fence are those of the mark.
	Generation int64 `json:"generation"`
	Fence      int64 `json:"fence"`
}
