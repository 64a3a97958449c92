package v1

import (
	"net"
	"net/netip"
	"strings"
)

func checkNetworks(m *mistakes, p Path, networks []Network) {
	if !checkCount(m, p, len(networks), MaxNetworks) {
		return
	}
	macs, ips := map[string]Path{}, map[string]Path{}
	for i, n := range networks {
		at := p.Index(i)
		switch {
		case (n.Network == "") == (n.Bridge == ""):
			m.add(at, "exactly one of network and bridge must be set")
		case n.Network != "" && !isNetworkName(n.Network, MaxNameLength):
			m.add(at.Key("network"), "must be the name of a libvirt network: 1 to %d of letters, digits, '.', '_' and '-'", MaxNameLength)
		case n.Bridge != "" && !isNetworkName(n.Bridge, maxInterfaceName):
			m.add(at.Key("bridge"), "must be the name of a bridge: 1 to %d of letters, digits, '.', '_' and '-'", maxInterfaceName)
		}
		checkMAC(m, macs, at.Key("mac"), n.MAC)
		checkStaticIP(m, ips, at.Key("ip"), n)
	}
}

// maxInterfaceName is what the kernel holds, without the NUL at its end.
const maxInterfaceName = 15

func isNetworkName(s string, limit int) bool {
	if s == "" || len(s) > limit || !isAlphanumeric(s[0]) {
		return false
	}
	for i := range len(s) {
		if !isAlphanumeric(s[i]) && !strings.ContainsRune("._-", rune(s[i])) {
			return false
		}
	}
	return true
}

func checkMAC(m *mistakes, seen map[string]Path, p Path, mac string) {
	if mac == "" {
		return
	}
	hw, err := net.ParseMAC(mac)
	switch {
	case err != nil || len(hw) != 6:
		m.add(p, "must be a MAC address such as 52:54:00:12:34:56")
	case hw[0]&1 != 0:
		m.add(p, "must be a unicast address: the first byte must be even")
	case hw.String() == "00:00:00:00:00:00":
		m.add(p, "must not be all zero")
	default:
		checkFirst(m, seen, p, hw.String())
	}
}

func checkStaticIP(m *mistakes, seen map[string]Path, p Path, n Network) {
	if n.IP == "" {
		return
	}
	ip, err := netip.ParseAddr(n.IP)
	switch {
	case n.Network == "":
		m.add(p, "only with network: on a bridge nobody gives it out; set it by cloudInit.networkConfig")
	case err != nil || !ip.Is4():
		m.add(p, "must be an IPv4 address")
	case !ip.IsGlobalUnicast():
		m.add(p, "must be an address that a machine can have")
	default:
		checkFirst(m, seen, p, ip.String())
	}
}
