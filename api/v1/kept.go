package v1

// The kinds of what a removal leaves.
const (
	// KeptVolume is a named volume. A new workload of the same name takes it again, if it comes to the same host.
	KeptVolume = "Volume"
	// KeptPath is a disk or directory of the host that the user brought.
	KeptPath = "Path"
)

// Kept is something that stays on a host when its workload is removed.
type Kept struct {
	// Kind is Volume or Path.
	Kind string `json:"kind"`
	Host string `json:"host"`
	// Name is a volume's name in the spec.
	Name string `json:"name,omitempty"`
	// Ref is what the host calls it: the runtime's name of a volume, or a path.
	Ref string `json:"ref"`
}
