// Package container runs workloads of kind Container: what each step does, what is kept and what is replaced, and what a
// workload may have of its host. What it needs of a container engine stands in Driver; activities/container/docker
// implements that.
package container

import (
	"time"

	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	defaultStall        = time.Minute
	defaultPulls        = 3
	defaultGrace        = 10 * time.Second
	defaultReadyTimeout = 5 * time.Minute
)

// Config is what an agent says about its host.
type Config struct {
	// Fleet and Host are stamped on everything that is made; nothing with other ones is touched.
	Fleet, Host string
	// DataDir holds workloads/<name>/, the directory of each workload.
	DataDir string
	// AllowPaths are the directories of the host that binds may come from, after symbolic links are resolved. None are
	// allowed by default.
	AllowPaths []string
	// AllowDevices are the devices that a container may be given: paths, or patterns such as /dev/ttyUSB*. None are
	// allowed by default.
	AllowDevices []string
	// BootedAt is when the machine booted: what ended with it was interrupted. Zero means that it is not known.
	BootedAt time.Time
	// MaxConcurrentPulls bounds the images that are pulled at the same time. Default 3.
	MaxConcurrentPulls int
	// StallTimeout is how long a pull may make no progress. Default one minute.
	StallTimeout time.Duration
}

// Runtime runs containers by a driver. It implements step.Runtime.
type Runtime struct {
	cfg     Config
	driver  Driver
	policy  policy
	pulls   *pulls
	claims  claims
	outside outside
	runs    running
}

var _ step.Runtime = (*Runtime)(nil)

// New returns a runtime. The driver's engine need not be up: Probe says whether it is.
func New(cfg Config, driver Driver) *Runtime {
	if cfg.MaxConcurrentPulls <= 0 {
		cfg.MaxConcurrentPulls = defaultPulls
	}
	if cfg.StallTimeout <= 0 {
		cfg.StallTimeout = defaultStall
	}
	return &Runtime{
		claims:  claims{of: map[device]string{}},
		outside: outside{boot: cfg.BootedAt, kills: times{}, ooms: times{}},
		runs:    running{workload: map[string]string{}},
		cfg:     cfg, driver: driver,
		policy: policy{host: cfg.Host, paths: cfg.AllowPaths, devices: cfg.AllowDevices},
		pulls:  newPulls(driver, cfg.MaxConcurrentPulls, cfg.StallTimeout),
	}
}

// Kind is v1.KindContainer.
func (r *Runtime) Kind() v1.Kind { return v1.KindContainer }

// Steps are the steps of a container. It has no Create: Start makes what it starts.
func (r *Runtime) Steps() map[contract.Step]step.Func {
	return map[contract.Step]step.Func{
		contract.StepPrepare:     r.prepare,
		contract.StepStart:       r.start,
		contract.StepAwaitReady:  r.awaitReady,
		contract.StepStop:        r.stop,
		contract.StepRemove:      r.remove,
		contract.StepAcknowledge: r.acknowledge,
	}
}

func specOf(w v1.Workload) (*v1.ContainerSpec, error) {
	if w.Container == nil {
		return nil, contract.Permanent(v1.ReasonInvalid, "apply a workload of kind Container", "the step got no container's spec")
	}
	return w.Container, nil
}

func isJob(spec *v1.ContainerSpec) bool { return spec != nil && spec.Type == v1.TypeJob }

func progress(s contract.Step, detail string) v1.Progress {
	return v1.Progress{Step: contract.ActivityName(v1.KindContainer, s), Detail: detail}
}
