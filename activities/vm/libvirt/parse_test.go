package libvirt

import (
	"net/netip"
	"testing"

	golibvirt "github.com/digitalocean/go-libvirt"
	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/vm"
)

func TestParseNetwork(t *testing.T) {
	n, err := parseNetwork(`<network><name>lan</name>
  <ip address="192.168.5.1" netmask="255.255.240.0"><dhcp><range start="192.168.5.2" end="192.168.5.9"/>
    <host mac="52:54:00:00:00:01" name="web" ip="192.168.5.7"/></dhcp></ip>
  <ip family="ipv6" address="fd00::1" prefix="64"><dhcp/></ip>
  <ip address="10.0.0.1" prefix="8"/>
  <ip address="no" prefix="8"><dhcp/></ip>
  <ip address="10.1.0.1" netmask="no"><dhcp/></ip>
</network>`)
	require.NoError(t, err)
	require.Equal(t, vm.Network{
		Name:    "lan",
		Subnets: []netip.Prefix{netip.MustParsePrefix("192.168.0.0/20"), netip.MustParsePrefix("fd00::/64")},
		Hosts:   []vm.DHCPHost{{MAC: "52:54:00:00:00:01", IP: "192.168.5.7", Name: "web"}},
	}, n)
	_, err = parseNetwork("<network")
	require.Error(t, err)
}

func FuzzParseNetwork(f *testing.F) {
	f.Add(`<network><name>n</name><ip address="10.0.0.1" netmask="255.0.0.0"><dhcp/></ip></network>`)
	f.Add(`<network><ip address="::1" prefix="200"><dhcp/></ip></network>`)
	f.Fuzz(func(t *testing.T, text string) {
		n, _ := parseNetwork(text)
		for _, s := range n.Subnets {
			require.True(t, s.IsValid())
		}
	})
}

func TestPower(t *testing.T) {
	for _, tc := range []struct {
		state  golibvirt.DomainState
		reason int32
		power  vm.Power
		ending vm.Ending
	}{
		{golibvirt.DomainRunning, 1, vm.PowerRunning, ""},
		{golibvirt.DomainBlocked, 0, vm.PowerRunning, ""},
		{golibvirt.DomainShutdown, 0, vm.PowerRunning, ""},
		{golibvirt.DomainPmsuspended, 0, vm.PowerRunning, ""},
		{golibvirt.DomainPaused, int32(golibvirt.DomainPausedIoerror), vm.PowerPaused, ""},
		{golibvirt.DomainNostate, 0, vm.PowerPaused, ""},
		{99, 0, vm.PowerPaused, ""},
		{golibvirt.DomainCrashed, 0, vm.PowerOff, vm.EndingCrashed},
		{golibvirt.DomainShutoff, int32(golibvirt.DomainShutoffShutdown), vm.PowerOff, vm.EndingShutdown},
		{golibvirt.DomainShutoff, int32(golibvirt.DomainShutoffDestroyed), vm.PowerOff, vm.EndingDestroyed},
		{golibvirt.DomainShutoff, int32(golibvirt.DomainShutoffCrashed), vm.PowerOff, vm.EndingCrashed},
		{golibvirt.DomainShutoff, int32(golibvirt.DomainShutoffFailed), vm.PowerOff, vm.EndingFailed},
		{golibvirt.DomainShutoff, int32(golibvirt.DomainShutoffUnknown), vm.PowerOff, vm.EndingUnknown},
		{golibvirt.DomainShutoff, int32(golibvirt.DomainShutoffSaved), vm.PowerOff, vm.EndingUnknown},
	} {
		power, why, ending := power(tc.state, tc.reason)
		require.Equal(t, tc.power, power, "%v %v", tc.state, tc.reason)
		require.Equal(t, tc.ending, ending, "%v %v", tc.state, tc.reason)
		require.Equal(t, power == vm.PowerPaused, why != "")
	}
}

func TestAddressesThatOthersCanReach(t *testing.T) {
	got := addresses([]golibvirt.DomainInterface{
		{Name: "lo", Addrs: []golibvirt.DomainIPAddr{{Addr: "127.0.0.1"}, {Addr: "::1"}}},
		{Name: "eth0", Addrs: []golibvirt.DomainIPAddr{{Addr: "10.0.0.2"}, {Addr: "fe80::1"}, {Addr: "fd00::2"}, {Addr: "10.0.0.2"}, {Addr: "x"}}},
	})
	require.Equal(t, []string{"10.0.0.2", "fd00::2"}, got)
}

func TestCapabilitiesOfDocuments(t *testing.T) {
	types, err := domainTypes(`<capabilities><guest><os_type>hvm</os_type><arch name="x86_64"><domain type="qemu"/><domain type="kvm"/></arch></guest>
<guest><os_type>xen</os_type><arch name="x86_64"><domain type="xen"/></arch></guest>
<guest><os_type>hvm</os_type><arch name="i686"><domain type="qemu"/></arch></guest></capabilities>`)
	require.NoError(t, err)
	require.Equal(t, []string{"qemu", "kvm"}, types)
	require.Equal(t, []string{"bios", "efi"}, firmwares(
		`<domainCapabilities><os supported="yes"><enum name="firmware"><value>bios</value><value>efi</value></enum></os></domainCapabilities>`))
	require.Empty(t, firmwares("<domainCapabilities/>"))
	require.Equal(t, "9.0.12", version(9_000_012))
}

func TestSplitURI(t *testing.T) {
	for uri, want := range map[string][2]string{
		"":                                 {"", ""},
		"qemu:///system":                   {"qemu:///system", ""},
		"qemu:///system?socket=/run/o":     {"qemu:///system", "/run/o"},
		"test:///default?socket=/s&no=1":   {"test:///default?no=1", "/s"},
		"qemu:///session?mode=direct":      {"qemu:///session?mode=direct", ""},
		"qemu:///system?socket=%2Frun%2Fo": {"qemu:///system", "/run/o"},
		"%":                                {"%", ""},
	} {
		rest, socket := splitURI(uri)
		require.Equal(t, want, [2]string{rest, socket}, uri)
	}
}

func TestParseCards(t *testing.T) {
	require.Equal(t, []vm.Card{{Network: "lan", Link: "vnet3"}, {Network: "br0", Link: "vnet4"}}, parseCards(`<domain><devices>
		<interface type="network"><source network="lan" portid="1" bridge="virbr1"/><target dev="vnet3"/></interface>
		<interface type="bridge"><source bridge="br0"/><target dev="vnet4"/></interface>
		<interface type="network"><source network="direct"/><target dev="macvtap0"/></interface>
		<interface type="user"/>
	</devices></domain>`))
	require.Empty(t, parseCards("nonsense"))
}
