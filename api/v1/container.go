package v1

// ContainerSpec describes one container.
type ContainerSpec struct {
	Common
	// Image is a reference as Docker reads it. A local image needs no registry.
	Image string `json:"image"`
	// Pull says when the image is pulled: missing (default), always, never.
	Pull PullPolicy `json:"pull,omitempty"`
	// Command replaces the image's entrypoint, Args its command.
	Command []string `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	// Env is added to the image's environment. Values may be secret: they are never logged.
	Env         map[string]string `json:"env,omitempty"`
	WorkingDir  string            `json:"workingDir,omitempty"`
	User        string            `json:"user,omitempty"`
	Hostname    string            `json:"hostname,omitempty"`
	Init        bool              `json:"init,omitempty"`
	StopSignal  string            `json:"stopSignal,omitempty"`
	Ports       []Port            `json:"ports,omitempty"`
	Volumes     []Mount           `json:"volumes,omitempty"`
	Devices     []Device          `json:"devices,omitempty"`
	Resources   Resources         `json:"resources,omitzero"`
	HealthCheck *HealthCheck      `json:"healthCheck,omitempty"`
	// Labels are set on the container, beside Berth's own. The prefix "berth." is refused.
	Labels map[string]string `json:"labels,omitempty"`
}

// PullPolicy says when an image is pulled from its registry.
type PullPolicy string

// The pull policies.
const (
	PullMissing PullPolicy = "missing"
	PullAlways  PullPolicy = "always"
	PullNever   PullPolicy = "never"
)

// Port publishes a container's port on the host.
type Port struct {
	// Container is the port inside, 1 to 65535.
	Container int `json:"container"`
	// Host is the port on the host. Zero lets Docker choose one.
	Host int `json:"host,omitempty"`
	// HostIP is the address to listen on. Empty means all.
	HostIP string `json:"hostIP,omitempty"`
	// Protocol is tcp (default), udp or sctp.
	Protocol string `json:"protocol,omitempty"`
}

// Mount brings a named volume or a path of the host into a container. Exactly one of Name and Bind is set.
type Mount struct {
	// Name of a volume that Berth creates. It belongs to the workload, and outlives it unless it is to go too.
	Name string `json:"name,omitempty"`
	// Bind is an absolute path of the host, under a prefix that the host allows.
	Bind     string `json:"bind,omitempty"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"readOnly,omitempty"`
}

// Device gives a container a device of the host, if the host allows it.
type Device struct {
	Host string `json:"host"`
	// Container is the path inside. Default: the same as on the host.
	Container string `json:"container,omitempty"`
	// Permissions is a subset of "rwm". Default "rwm".
	Permissions string `json:"permissions,omitempty"`
}

// Resources are limits, and what is reserved on a host.
type Resources struct {
	CPUs   MilliCPU `json:"cpus,omitempty"`
	Memory Bytes    `json:"memory,omitempty"`
	// MemorySwap is memory plus swap, as Docker counts it; -1 means unlimited swap.
	MemorySwap Bytes `json:"memorySwap,omitempty"`
	// Pids bounds the number of processes. Zero means no bound.
	Pids int64 `json:"pids,omitempty"`
}

// HealthCheck is a command that says whether a container is well; it exits zero if so.
type HealthCheck struct {
	// Command is run without a shell. A single element that starts with no path is still one program name.
	Command []string `json:"command"`
	// Interval between checks; the first comes one interval after the start. Default 10s.
	Interval Duration `json:"interval,omitempty"`
	// Timeout of one check. Default 10s.
	Timeout Duration `json:"timeout,omitempty"`
	// StartPeriod after the start in which failed checks do not count. Default none.
	StartPeriod Duration `json:"startPeriod,omitempty"`
	// Retries is how many checks in a row must fail until the container is unhealthy. Default 3.
	Retries int `json:"retries,omitempty"`
	// ReadyTimeout is how long a deploy waits for the first healthy answer. Default 5m.
	ReadyTimeout Duration `json:"readyTimeout,omitempty"`
}
