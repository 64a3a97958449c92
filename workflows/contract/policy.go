package contract

import (
	"fmt"
	"strings"

	v1 "github.com/berth-dev/berth/api/v1"
)

// RestartsAfter says whether the host starts a service again that ended by itself, having been restarted some times
// already. Host and entity decide by this one function.
func RestartsAfter(p *v1.RestartPolicy, exit Exit, restarts int) bool {
	mode := v1.RestartAlways
	if p != nil {
		mode = p.Policy
	}
	switch mode {
	case v1.RestartAlways, v1.RestartUnlessStopped:
		return true
	case v1.RestartOnFailure:
		failed := exit.Code != 0 || exit.Outcome != v1.ReasonExited
		return failed && (p.MaxRetries == 0 || restarts < p.MaxRetries)
	case v1.RestartNo:
		return exit.Outcome == v1.ReasonInterrupted // the runtime's own restart is not the workload's end
	default:
		return false
	}
}

// NeedsOf is what a workload takes of a host. A container without limits takes no more than its ports and devices.
func NeedsOf(w v1.Workload) Needs {
	n := Needs{Kind: w.Kind, Labels: w.Metadata.Labels}
	if c := w.Spec(); c != nil {
		n.Strict = c.Strict
		if c.Placement != nil {
			n.Apart = c.Placement.Apart
		}
	}
	switch {
	case w.Container != nil:
		r := w.Container.Resources
		n.Amount = v1.Amounts{CPUs: r.CPUs, Memory: r.Memory}
		for _, p := range w.Container.Ports {
			if p.Host != 0 {
				n.Ports = append(n.Ports, PortClaim{IP: p.HostIP, Port: p.Host, Protocol: protocol(p.Protocol)})
			}
		}
		for _, d := range w.Container.Devices {
			n.Devices = append(n.Devices, d.Host)
		}
	case w.VM != nil:
		n.Amount = v1.Amounts{CPUs: v1.MilliCPU(w.VM.VCPUs) * 1000, Memory: w.VM.Memory}
		for _, d := range w.VM.Disks {
			if d.Path == "" {
				n.Amount.Disk += d.Size
			}
		}
	}
	return n
}

func protocol(p string) string {
	if p == "" {
		return "tcp"
	}
	return p
}

// Short says what a host lacks of what is asked, beside what it has given away. What is not asked for is never short.
func Short(capacity, used, asked v1.Amounts) (v1.Reason, string) {
	var missing []string
	if over := used.CPUs + asked.CPUs - capacity.CPUs; asked.CPUs > 0 && over > 0 {
		missing = append(missing, fmt.Sprintf("CPU short by %s (asked %s, capacity %s)", over, asked.CPUs, capacity.CPUs))
	}
	if over := used.Memory + asked.Memory - capacity.Memory; asked.Memory > 0 && over > 0 {
		missing = append(missing, fmt.Sprintf("memory short by %s (asked %s, capacity %s)", over, asked.Memory, capacity.Memory))
	}
	if over := used.Disk + asked.Disk - capacity.Disk; asked.Disk > 0 && over > 0 {
		missing = append(missing, fmt.Sprintf("disk short by %s (asked %s, capacity %s)", over, asked.Disk, capacity.Disk))
	}
	if len(missing) == 0 {
		return v1.ReasonNone, ""
	}
	return v1.ReasonNoCapacity, strings.Join(missing, "; ")
}
