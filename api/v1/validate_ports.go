package v1

import (
	"fmt"
	"net/netip"
)

const maxPort = 65535

// hostPort is a port of the host as it is claimed.
type hostPort struct {
	number   int
	protocol string
}

func checkPorts(m *mistakes, p Path, ports []Port) {
	if !checkCount(m, p, len(ports), MaxPorts) {
		return
	}
	claimed := map[hostPort][]int{}
	chosen := map[Port]Path{}
	for i, port := range ports {
		at := p.Index(i)
		checkRange(m, at.Key("container"), port.Container, 1, maxPort)
		checkRange(m, at.Key("host"), port.Host, 0, maxPort)
		checkOneOf(m, at.Key("protocol"), port.Protocol, "tcp", "udp", "sctp")
		if port.HostIP != "" && !isHostIP(port.HostIP) {
			m.add(at.Key("hostIP"), "must be an IP address without a zone")
			continue
		}
		if port.Host == 0 {
			checkFirst(m, chosen, at, port)
			continue
		}
		key := hostPort{port.Host, port.Protocol}
		for _, j := range claimed[key] {
			if sameAddress(ports[j].HostIP, port.HostIP) {
				m.add(at.Key("host"), "port %d/%s of the host is taken by %s", port.Host, port.Protocol, p.Index(j))
				break
			}
		}
		claimed[key] = append(claimed[key], i)
	}
}

func isHostIP(s string) bool {
	ip, err := netip.ParseAddr(s)
	return err == nil && ip.Zone() == "" && !ip.IsMulticast()
}

// sameAddress says whether two addresses to listen on collide; an unspecified one collides with all.
func sameAddress(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	if errX != nil || errY != nil { // empty: all addresses
		return true
	}
	return x.IsUnspecified() || y.IsUnspecified() || x.Unmap() == y.Unmap()
}

// checkResources checks the limits of a container.
func checkResources(m *mistakes, p Path, r Resources) {
	if r.CPUs != 0 {
		checkRange(m, p.Key("cpus"), r.CPUs, MinCPUs, MaxCPUs)
	}
	if r.Memory != 0 {
		checkRange(m, p.Key("memory"), r.Memory, MinContainerMemory, MaxMemory)
	}
	if wrong := wrongSwap(r); wrong != "" {
		m.add(p.Key("memorySwap"), "%s", wrong)
	}
	checkRange(m, p.Key("pids"), r.Pids, 0, MaxPids)
}

func wrongSwap(r Resources) string {
	switch {
	case r.MemorySwap == 0:
		return ""
	case r.Memory == 0:
		return "only together with memory"
	case r.MemorySwap == UnlimitedMemorySwap:
		return ""
	case r.MemorySwap < r.Memory:
		return fmt.Sprintf("must be at least the memory (%s): it counts memory and swap; -1 means unlimited", r.Memory)
	case r.MemorySwap > MaxMemory:
		return fmt.Sprintf("must be at most %s", MaxMemory)
	default:
		return ""
	}
}
