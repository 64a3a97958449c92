package libvirt

import (
	"context"
	"encoding/xml"
	"slices"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	agentChannel = "org.qemu.guest_agent.0"
	// agentSeconds is how long a guest agent may take to answer; agentLimit leaves libvirt room to say that it did not.
	agentSeconds = 2
	agentLimit   = 15 * time.Second
)

// Shutdown asks the guest to power off.
func (d *Driver) Shutdown(ctx context.Context, name string) error {
	op := operation{
		doing: "shut down the guest of " + name, object: aboutDomain(name), limit: agentLimit, changes: true, slow: true,
	}
	return d.onDomain(ctx, op, name, func(l *golibvirt.Libvirt, dom golibvirt.Domain) error {
		// Without flags libvirt asks the agent, and presses the button if there is none. An agent may agree and then do
		// nothing, so the button is pressed as well: a guest that shuts down already does not mind.
		err := l.DomainShutdownFlags(dom, 0)
		if err == nil && agentConnected(l, dom) {
			err = l.DomainShutdownFlags(dom, golibvirt.DomainShutdownAcpiPowerBtn)
		}
		if invalidState(err) && !isActive(l, dom) {
			return nil
		}
		return err
	})
}

// PingAgent asks the guest agent for a sign of life.
func (d *Driver) PingAgent(ctx context.Context, name string) error {
	op := operation{doing: "ping the guest agent of " + name, object: aboutDomain(name), limit: agentLimit, slow: true}
	return d.onDomain(ctx, op, name, func(l *golibvirt.Libvirt, dom golibvirt.Domain) error {
		if !agentConnected(l, dom) {
			return contract.Retryable(v1.ReasonUnhealthy, "install and start qemu-guest-agent in the guest",
				"the guest agent of %s is not connected", name)
		}
		_, err := l.QEMUDomainAgentCommand(dom, `{"execute":"guest-ping"}`, agentSeconds, 0)
		return err
	})
}

// Addresses are the guest's addresses. The guest agent is asked only if no network has a lease.
func (d *Driver) Addresses(ctx context.Context, name string) ([]string, error) {
	op := operation{doing: "read the addresses of " + name, object: aboutDomain(name), limit: agentLimit, slow: true}
	return call(ctx, d, op, func(l *golibvirt.Libvirt) ([]string, error) {
		dom, err := l.DomainLookupByName(name)
		if err != nil {
			return nil, err
		}
		found, err := l.DomainInterfaceAddresses(dom, uint32(golibvirt.DomainInterfaceAddressesSrcLease), 0)
		if err != nil || len(addresses(found)) > 0 || !agentConnected(l, dom) {
			return addresses(found), err
		}
		found, err = l.DomainInterfaceAddresses(dom, uint32(golibvirt.DomainInterfaceAddressesSrcAgent), 0)
		return addresses(found), err
	})
}

// addresses keeps what others can reach: neither loopback nor link-local.
func addresses(interfaces []golibvirt.DomainInterface) []string {
	var all []string
	for _, i := range interfaces {
		for _, a := range i.Addrs {
			if reachable(a.Addr) && !slices.Contains(all, a.Addr) {
				all = append(all, a.Addr)
			}
		}
	}
	return all
}

// agentConnected reports whether the guest agent has its channel open. A call to one that has not would only time out.
func agentConnected(l *golibvirt.Libvirt, dom golibvirt.Domain) bool {
	text, err := l.DomainGetXMLDesc(dom, 0)
	if err != nil {
		return false
	}
	var live libvirtxml.Domain
	if xml.Unmarshal([]byte(text), &live) != nil || live.Devices == nil {
		return false
	}
	for _, c := range live.Devices.Channels {
		if c.Target != nil && c.Target.VirtIO != nil && c.Target.VirtIO.Name == agentChannel {
			return c.Target.VirtIO.State == "connected"
		}
	}
	return false
}
