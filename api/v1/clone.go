package v1

import (
	"maps"
	"slices"
)

// Clone returns a deep copy.
func (w *Workload) Clone() *Workload {
	if w == nil {
		return nil
	}
	c := *w
	c.Metadata.Labels = maps.Clone(w.Metadata.Labels)
	c.Container = w.Container.clone()
	c.VM = w.VM.clone()
	return &c
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

func (c Common) clone() Common {
	c.Job = clonePointer(c.Job)
	c.Restart = clonePointer(c.Restart)
	c.Placement = clonePointer(c.Placement)
	if c.Placement != nil {
		c.Placement.Hosts = slices.Clone(c.Placement.Hosts)
		c.Placement.Labels = slices.Clone(c.Placement.Labels)
	}
	return c
}

func (c *ContainerSpec) clone() *ContainerSpec {
	n := clonePointer(c)
	if n == nil {
		return nil
	}
	n.Common = c.Common.clone()
	n.Command = slices.Clone(c.Command)
	n.Args = slices.Clone(c.Args)
	n.Env = maps.Clone(c.Env)
	n.Ports = slices.Clone(c.Ports)
	n.Volumes = slices.Clone(c.Volumes)
	n.Devices = slices.Clone(c.Devices)
	n.HealthCheck = clonePointer(c.HealthCheck)
	if n.HealthCheck != nil {
		n.HealthCheck.Command = slices.Clone(c.HealthCheck.Command)
	}
	n.Labels = maps.Clone(c.Labels)
	return n
}

func (v *VMSpec) clone() *VMSpec {
	n := clonePointer(v)
	if n == nil {
		return nil
	}
	n.Common = v.Common.clone()
	n.Disks = slices.Clone(v.Disks)
	for i := range n.Disks {
		n.Disks[i].Image = clonePointer(v.Disks[i].Image)
	}
	n.Networks = slices.Clone(v.Networks)
	n.CloudInit = clonePointer(v.CloudInit)
	n.Metadata = maps.Clone(v.Metadata)
	n.Readiness = clonePointer(v.Readiness)
	return n
}
