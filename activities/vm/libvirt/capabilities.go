package libvirt

import (
	"context"
	"encoding/xml"
	"fmt"
	"slices"

	golibvirt "github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"github.com/berth-dev/berth/activities/vm"
)

// Capabilities says what the host's hypervisor can do.
func (d *Driver) Capabilities(ctx context.Context) (vm.Capabilities, error) {
	op := operation{doing: "ask libvirt what it can do", object: "capabilities", limit: lookLimit}
	return call(ctx, d, op, func(l *golibvirt.Libvirt) (vm.Capabilities, error) {
		lib, err := l.ConnectGetLibVersion()
		if err != nil {
			return vm.Capabilities{}, err
		}
		kind, err := l.ConnectGetType()
		if err != nil {
			return vm.Capabilities{}, err
		}
		hypervisor, err := l.ConnectGetVersion()
		if err != nil {
			return vm.Capabilities{}, err
		}
		found := vm.Capabilities{Version: fmt.Sprintf("libvirt %s, %s %s", version(lib), kind, version(hypervisor))}
		text, err := l.ConnectGetCapabilities()
		if err != nil {
			return found, err
		}
		if found.DomainTypes, err = domainTypes(text); err != nil {
			return found, err
		}
		// Only some hypervisors can say this; one that cannot has no choice of firmware.
		if text, err = l.ConnectGetDomainCapabilities(nil, nil, golibvirt.OptString{vm.Machine}, nil, 0); err == nil {
			found.Firmwares = firmwares(text)
		}
		return found, nil
	})
}

// version writes a version as libvirt encodes it.
func version(v uint64) string { return fmt.Sprintf("%d.%d.%d", v/1_000_000, v/1000%1000, v%1000) }

// domainTypes are the types of full virtualisation that a host offers.
func domainTypes(text string) ([]string, error) {
	var caps libvirtxml.Caps
	if err := xml.Unmarshal([]byte(text), &caps); err != nil {
		return nil, fmt.Errorf("read libvirt's capabilities: %w", err)
	}
	var types []string
	for _, guest := range caps.Guests {
		if guest.OSType != "hvm" {
			continue
		}
		for _, domain := range guest.Arch.Domains {
			if !slices.Contains(types, domain.Type) {
				types = append(types, domain.Type)
			}
		}
	}
	return types, nil
}

func firmwares(text string) []string {
	var caps libvirtxml.DomainCaps
	if xml.Unmarshal([]byte(text), &caps) != nil || caps.OS == nil {
		return nil
	}
	for _, enum := range caps.OS.Enums {
		if enum.Name == "firmware" {
			return enum.Values
		}
	}
	return nil
}
