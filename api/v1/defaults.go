package v1

import (
	"net"
	"strings"
	"time"
)

// What Default fills in.
const (
	DefaultContainerGrace = Duration(10 * time.Second)
	DefaultVMGrace        = Duration(60 * time.Second)
	DefaultBootTimeout    = Duration(5 * time.Minute)
	DefaultReadyTimeout   = Duration(5 * time.Minute)
	DefaultCheckInterval  = Duration(10 * time.Second)
	DefaultCheckTimeout   = Duration(10 * time.Second)
	DefaultCheckRetries   = 3
)

// Default fills in what the user left out, and writes MAC addresses and checksums in lower case, so that the same
// workload always has the same digest. It changes nothing that is wrong, and doing it again changes nothing.
func (w *Workload) Default() {
	if w == nil {
		return
	}
	setDefault(&w.APIVersion, APIVersion)
	if w.Container != nil {
		w.Container.setDefaults()
	}
	if w.VM != nil {
		w.VM.setDefaults()
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c *Common) setDefaults(grace Duration) {
	setDefault(&c.Type, TypeService)
	setDefault(&c.StopGracePeriod, grace)
	if c.Restart == nil {
		c.Restart = new(RestartPolicy)
	}
	switch c.Type {
	case TypeJob:
		if c.Job == nil {
			c.Job = new(JobPolicy)
		}
		setDefault(&c.Job.MaxAttempts, 1)
		setDefault(&c.Restart.Policy, RestartNo)
	case TypeService:
		setDefault(&c.Restart.Policy, RestartAlways)
	}
}

func (c *ContainerSpec) setDefaults() {
	c.Common.setDefaults(DefaultContainerGrace)
	setDefault(&c.Pull, PullMissing)
	for i := range c.Ports {
		setDefault(&c.Ports[i].Protocol, "tcp")
	}
	for i := range c.Devices {
		setDefault(&c.Devices[i].Container, c.Devices[i].Host)
		setDefault(&c.Devices[i].Permissions, "rwm")
	}
	if h := c.HealthCheck; h != nil {
		setDefault(&h.Interval, DefaultCheckInterval)
		setDefault(&h.Timeout, DefaultCheckTimeout)
		setDefault(&h.Retries, DefaultCheckRetries)
		setDefault(&h.ReadyTimeout, DefaultReadyTimeout)
	}
}

func (v *VMSpec) setDefaults() {
	v.Common.setDefaults(DefaultVMGrace)
	setDefault(&v.Firmware, FirmwareBIOS)
	setDefault(&v.BootTimeout, DefaultBootTimeout)
	if v.Readiness == nil {
		v.Readiness = &Readiness{When: ReadyRunning}
	}
	for i := range v.Disks {
		v.Disks[i].setDefaults()
	}
	for i := range v.Networks {
		if mac, err := net.ParseMAC(v.Networks[i].MAC); err == nil {
			v.Networks[i].MAC = mac.String()
		}
	}
}

func (d *Disk) setDefaults() {
	switch {
	case d.Image != nil:
		setDefault(&d.Mode, DiskOverlay)
		setDefault(&d.Image.Format, FormatQCOW2)
		d.Image.Checksum = strings.ToLower(d.Image.Checksum)
	case d.Path == "":
		setDefault(&d.Format, FormatQCOW2)
	}
}
