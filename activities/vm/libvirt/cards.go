package libvirt

import (
	"cmp"
	"encoding/xml"

	golibvirt "github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"github.com/berth-dev/berth/activities/vm"
)

// cards are the cards of a domain that runs. One that can't be read, because the domain has ended by now, has none.
func cards(l *golibvirt.Libvirt, dom golibvirt.Domain) []vm.Card {
	text, err := l.DomainGetXMLDesc(dom, 0)
	if err != nil {
		return nil
	}
	return parseCards(text)
}

// parseCards keeps those that libvirt has plugged into a bridge.
func parseCards(text string) []vm.Card {
	var live libvirtxml.Domain
	if xml.Unmarshal([]byte(text), &live) != nil || live.Devices == nil {
		return nil
	}
	var all []vm.Card
	for _, i := range live.Devices.Interfaces {
		if i.Source == nil || i.Target == nil {
			continue
		}
		name := ""
		if n := i.Source.Network; n != nil && n.Bridge != "" {
			name = cmp.Or(n.Network, n.Bridge)
		} else if b := i.Source.Bridge; b != nil {
			name = b.Bridge
		}
		if name != "" {
			all = append(all, vm.Card{Network: name, Link: i.Target.Dev})
		}
	}
	return all
}
