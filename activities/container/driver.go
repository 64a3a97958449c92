package container

import (
	"context"
	"errors"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// ErrNameTaken is in the chain of Create's error if another container has the name.
var ErrNameTaken = errors.New("the name is taken")

// ErrStuck is in the chain of Start's error if the engine still has something of the container's last run, which it took for
// ended, and can't start it beside that. No later start fares better.
var ErrStuck = errors.New("the engine has not let go of the container's last run")

// Driver is a container engine. It holds no rules of its own. Its errors are *contract.Error: ReasonNotFound if the engine
// says that the thing does not exist, ReasonRuntimeUnavailable if the engine could not be asked. Each call but Pull and
// Events ends by itself in bounded time. It is safe for concurrent use.
type Driver interface {
	// Version is the engine's version. It answers within seconds.
	Version(ctx context.Context) (string, error)

	// HasImage reports whether the engine has the image.
	HasImage(ctx context.Context, ref string) (bool, error)
	// Pull fetches an image, and calls progressed with each sign that it moves. The bytes count all layers that are known
	// so far; total is zero as long as none is.
	Pull(ctx context.Context, ref string, progressed func(done, total int64)) error

	// Find returns all containers that carry the labels, running or not.
	Find(ctx context.Context, labels map[string]string) ([]Container, error)
	Inspect(ctx context.Context, id string) (Container, error)
	Create(ctx context.Context, c Create) (id string, err error)
	// Start starts a container; one that runs already is left as it is.
	Start(ctx context.Context, id string) error
	// Stop asks a container to end, and kills it after the grace. One that does not run is left as it is.
	Stop(ctx context.Context, id string, grace time.Duration) error
	// Remove removes a container that does not run, with its unnamed volumes. One that is gone is no error.
	Remove(ctx context.Context, id string) error

	// Volume returns the labels of a volume.
	Volume(ctx context.Context, name string) (labels map[string]string, err error)
	FindVolumes(ctx context.Context, labels map[string]string) (names []string, err error)
	CreateVolume(ctx context.Context, name string, labels map[string]string) error
	// RemoveVolume removes a volume. One that is gone is no error.
	RemoveVolume(ctx context.Context, name string) error

	// List returns everything of a kind that carries the labels: containers, running or not, volumes or networks.
	List(ctx context.Context, kind contract.ThingKind, labels map[string]string) ([]Object, error)
	// RemoveNetwork removes a network. One that is gone is no error.
	RemoveNetwork(ctx context.Context, id string) error

	// Events calls happened for each event of a container that carries the labels, and for any container that is connected to
	// a network or disconnected, until ctx ends or the connection breaks. It calls connected once, before the first.
	Events(ctx context.Context, labels map[string]string, connected func(), happened func(Event)) error
	// Logs returns the last lines of a container's output, oldest first, bounded in lines and in bytes.
	Logs(ctx context.Context, id string, tail, maxBytes int) ([]string, error)
}

// Status is an engine's word for where a container stands.
type Status string

// The statuses. StatusGone covers containers that the engine is removing or failed to remove.
const (
	StatusCreated Status = "created"
	StatusRunning Status = "running"
	StatusPaused  Status = "paused"
	StatusExited  Status = "exited"
	StatusGone    Status = "gone"
)

// Health is what a container's health check says.
type Health string

// The states of health. HealthNone means that there is no check.
const (
	HealthNone      Health = ""
	HealthStarting  Health = "starting"
	HealthHealthy   Health = "healthy"
	HealthUnhealthy Health = "unhealthy"
)

// Container is what an engine knows of a container.
type Container struct {
	ID, Name string
	Labels   map[string]string
	Status   Status
	Health   Health
	// HealthOutput is what the last health check said.
	HealthOutput string
	// StartedAt and FinishedAt are zero if it never was.
	StartedAt, FinishedAt time.Time
	ExitCode              int
	// PID is its first process, as the host numbers it; zero if it does not run.
	PID         int
	OutOfMemory bool
	// Error says why the last start failed.
	Error string
	// StopGrace is how long the container asked to be given at a stop; zero if it did not say.
	StopGrace time.Duration
	// Binds are the paths of the host that it mounts.
	Binds []string
	// Devices are the paths of the host's devices that it is given, as they were named when it was made.
	Devices []string
	// Cut is the network that it was made for, if it runs and is not on it.
	Cut string
	// Addresses are its IP addresses; Ports are its published ports, "8080:80/tcp" each.
	Addresses, Ports []string
}

// Object is something that an engine lists: a container, a volume or a network.
type Object struct {
	// ID is the engine's; a volume has none but its name.
	ID, Name string
	Labels   map[string]string
	// CreatedAt is zero if the engine does not say.
	CreatedAt time.Time
}

// Event says that a container's state may have changed, or that it is about to be.
type Event struct {
	ID     string
	Labels map[string]string
	At     time.Time
	// Killed is set if somebody asked the engine to end the container, or the engine does so because it stops itself. That
	// it ended is another event.
	Killed bool
	// OutOfMemory is set if the kernel killed one of its processes for want of memory. There may be dozens for one container.
	OutOfMemory bool
	// Network is set if the container was connected to a network, or disconnected, by somebody or with its start or end. Its
	// labels are not known then.
	Network bool
}

// Runs reports whether the container has processes.
func (c Container) Runs() bool { return c.Status == StatusRunning || c.Status == StatusPaused }

// Create describes a container to make. What the spec says about volumes and devices is replaced by Mounts and Devices,
// which were checked.
type Create struct {
	Name    string
	Labels  map[string]string
	Spec    *v1.ContainerSpec
	Mounts  []Mount
	Devices []v1.Device
}

// Mount is a volume or a path of the host inside a container. Exactly one of Volume and Path is set.
type Mount struct {
	Volume, Path, Target string
	ReadOnly             bool
}
