package faults

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/tests/harness"
)

// network is an isolated libvirt network, the name and the first two bytes of its addresses.
type network struct {
	name   string
	prefix string
}

// newNetwork makes a network until the test ends, after the fleet's domains are gone.
func newNetwork(t *testing.T, fleet string) network {
	t.Helper()
	b := make([]byte, 1)
	_, err := rand.Read(b)
	require.NoError(t, err)
	n := network{name: "berth-" + fleet, prefix: fmt.Sprintf("10.%d", b[0])}
	text := fmt.Sprintf(`<network><name>%s</name><bridge name="b%s" stp="off" delay="0"/>
  <ip address="%[3]s.0.1" netmask="255.255.0.0"><dhcp><range start="%[3]s.250.1" end="%[3]s.250.250"/></dhcp></ip>
</network>`, n.name, fleet, n.prefix)
	path := filepath.Join(t.TempDir(), "network.xml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	harness.Virsh(t, "net-define", path)
	t.Cleanup(func() {
		harness.Virsh(t, "net-destroy", n.name)
		harness.Virsh(t, "net-undefine", n.name)
	})
	harness.Virsh(t, "net-start", n.name)
	return n
}

// address is the n-th address of the network for guests.
func (n network) address(i int) string { return fmt.Sprintf("%s.%d.%d", n.prefix, 1+i/200, 2+i%200) }
