package libvirt

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/netip"

	golibvirt "github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"github.com/berth-dev/berth/activities/vm"
)

func aboutNetwork(name string) string { return "network " + name }

// Network looks at one network.
func (d *Driver) Network(ctx context.Context, name string) (vm.Network, error) {
	op := operation{doing: "look at the network " + name, object: aboutNetwork(name), limit: lookLimit}
	return call(ctx, d, op, func(l *golibvirt.Libvirt) (vm.Network, error) {
		net, err := l.NetworkLookupByName(name)
		if err != nil {
			return vm.Network{}, err
		}
		active, err := l.NetworkIsActive(net)
		if err != nil {
			return vm.Network{}, err
		}
		text, err := l.NetworkGetXMLDesc(net, 0)
		if err != nil {
			return vm.Network{}, err
		}
		found, err := parseNetwork(text)
		found.Active = active == 1
		return found, err
	})
}

// AddDHCPHost gives a static address to a network's DHCP server.
func (d *Driver) AddDHCPHost(ctx context.Context, network string, host vm.DHCPHost) error {
	return d.updateDHCP(ctx, network, golibvirt.NetworkUpdateCommandAddLast, host)
}

// RemoveDHCPHost takes it away again.
func (d *Driver) RemoveDHCPHost(ctx context.Context, network string, host vm.DHCPHost) error {
	return d.updateDHCP(ctx, network, golibvirt.NetworkUpdateCommandDelete, host)
}

func (d *Driver) updateDHCP(
	ctx context.Context, network string, command golibvirt.NetworkUpdateCommand, host vm.DHCPHost,
) error {
	op := operation{
		doing:  fmt.Sprintf("change the address %s in the network %s", host.IP, network),
		object: aboutNetwork(network), limit: changeLimit, changes: true,
	}
	entry, err := xml.Marshal(libvirtxml.NetworkDHCPHost{MAC: host.MAC, IP: host.IP, Name: host.Name})
	if err != nil {
		return classify(op.doing, err)
	}
	return done(call(ctx, d, op, func(l *golibvirt.Libvirt) (struct{}, error) {
		net, err := l.NetworkLookupByName(network)
		if err != nil {
			return struct{}{}, err
		}
		flags, err := updateFlags(l, net)
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, l.NetworkUpdateCompat(net, command, golibvirt.NetworkSectionIPDhcpHost, -1, string(entry), flags)
	}))
}

// updateFlags says where a network can be changed: as it runs, as it is kept, or both.
func updateFlags(l *golibvirt.Libvirt, net golibvirt.Network) (flags golibvirt.NetworkUpdateFlags, err error) {
	active, err := l.NetworkIsActive(net)
	if err != nil {
		return 0, err
	}
	persistent, err := l.NetworkIsPersistent(net)
	if active == 1 {
		flags |= golibvirt.NetworkUpdateAffectLive
	}
	if persistent == 1 {
		flags |= golibvirt.NetworkUpdateAffectConfig
	}
	return flags, err
}

func parseNetwork(text string) (vm.Network, error) {
	var def libvirtxml.Network
	if err := xml.Unmarshal([]byte(text), &def); err != nil {
		return vm.Network{}, fmt.Errorf("read the network's definition: %w", err)
	}
	n := vm.Network{Name: def.Name}
	for _, ip := range def.IPs {
		if ip.DHCP == nil {
			continue
		}
		if subnet, ok := subnetOf(ip); ok {
			n.Subnets = append(n.Subnets, subnet)
		}
		for _, h := range ip.DHCP.Hosts {
			n.Hosts = append(n.Hosts, vm.DHCPHost{MAC: h.MAC, IP: h.IP, Name: h.Name})
		}
	}
	return n, nil
}

// subnetOf reads a network's address with its prefix or netmask.
func subnetOf(ip libvirtxml.NetworkIP) (netip.Prefix, bool) {
	addr, err := netip.ParseAddr(ip.Address)
	if err != nil {
		return netip.Prefix{}, false
	}
	bits := int(ip.Prefix)
	if ip.Netmask != "" {
		mask, err := netip.ParseAddr(ip.Netmask)
		if err != nil {
			return netip.Prefix{}, false
		}
		bits = leadingOnes(mask.AsSlice())
	}
	if bits == 0 || bits > addr.BitLen() {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(addr, bits).Masked(), true
}
