package libvirt

import (
	"math/bits"
	"net/netip"
)

// reachable reports whether an address is one that others can use.
func reachable(address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && !a.IsLoopback() && !a.IsLinkLocalUnicast() && !a.IsUnspecified()
}

// leadingOnes counts the leading one bits of a netmask.
func leadingOnes(mask []byte) int {
	n := 0
	for _, b := range mask {
		ones := bits.LeadingZeros8(^b)
		n += ones
		if ones < 8 {
			break
		}
	}
	return n
}
