package vm

import (
	"context"
	"net/netip"
	"time"
)

// Driver is what a hypervisor's management must offer. Its errors are *contract.Error: ReasonNotFound for what does not
// exist, a retryable ReasonRuntimeUnavailable for what could not be looked at or may still be under way.
// Calls that change something return only when the change is done or given up; a cancelled ctx only keeps them from
// being begun.
type Driver interface {
	// Capabilities says what the host's hypervisor can do. It returns within seconds.
	Capabilities(ctx context.Context) (Capabilities, error)

	// Domains returns the names of all domains, running or not.
	Domains(ctx context.Context) ([]string, error)
	// Domain looks at one domain.
	Domain(ctx context.Context, name string) (Domain, error)
	// Define makes a domain from its XML, validated, or changes the definition of the one with the same name and UUID.
	Define(ctx context.Context, name, xml string) error
	// Start boots a defined domain, or lets a paused one go on; one that runs is left alone.
	Start(ctx context.Context, name string) error
	// Shutdown asks the guest to power off, by its agent if that is connected, else by the ACPI power button. It does
	// not wait for it.
	Shutdown(ctx context.Context, name string) error
	// Destroy ends a domain at once; one that does not run is left alone.
	Destroy(ctx context.Context, name string) error
	// Undefine drops the definition of a domain that does not run, with what libvirt keeps of it (saved memory,
	// snapshots' metadata), but never a disk. Firmware variables go only with the last.
	Undefine(ctx context.Context, name string, firmwareVariables bool) error

	// PingAgent asks the guest agent for a sign of life, for at most a few seconds.
	PingAgent(ctx context.Context, name string) error
	// Addresses are the guest's addresses, from DHCP leases or else from the guest agent; none is no error.
	Addresses(ctx context.Context, name string) ([]string, error)

	// Network looks at one network.
	Network(ctx context.Context, name string) (Network, error)
	// AddDHCPHost and RemoveDHCPHost change a network's static addresses.
	AddDHCPHost(ctx context.Context, network string, host DHCPHost) error
	RemoveDHCPHost(ctx context.Context, network string, host DHCPHost) error

	// Watch calls connected once when it listens, then changed with the name of each domain whose state changed, until
	// ctx ends or the connection breaks, which is an error. If the domain has ended just now, ended says how; else it is empty.
	Watch(ctx context.Context, connected func(), changed func(domain string, ended Ending)) error
}

// Capabilities are what a host's hypervisor can do.
type Capabilities struct {
	// Version names libvirt's and the hypervisor's version.
	Version string
	// DomainTypes are the types that libvirt offers, for example "kvm" and "qemu".
	DomainTypes []string
	// Firmwares are those that libvirt finds for Machine, for example "efi".
	Firmwares []string
}

// Machine is the type of machine that QEMU's guests get.
const Machine = "q35"

// Power is a domain's state, as far as it matters here.
type Power string

// The states of a domain. PowerPaused stands for all in which the guest exists but does not get on.
const (
	PowerRunning Power = "running"
	PowerPaused  Power = "paused"
	PowerOff     Power = "off"
)

// Ending says why a domain is off.
type Ending string

// The endings. EndingUnknown also means that it was never started.
const (
	EndingUnknown   Ending = "unknown"
	EndingShutdown  Ending = "shutdown"
	EndingDestroyed Ending = "destroyed"
	EndingCrashed   Ending = "crashed"
	EndingFailed    Ending = "failed to start"
)

// Domain is a domain as libvirt has it.
type Domain struct {
	Name, UUID string
	Power      Power
	// Why explains PowerPaused, for example "I/O error".
	Why string
	// Ending is set for PowerOff.
	Ending Ending
	// XML is its persistent definition, or what that would be if it has none.
	XML string
	// Transient is true if it has no definition: it vanishes when it ends. Berth makes none such, but who undefines a domain
	// that runs does.
	Transient bool
	// Cards are the network cards of a domain that runs.
	Cards []Card
}

// Card is a guest's network card that is plugged into a bridge of the host.
type Card struct {
	// Network is the libvirt network, or the bridge, that the definition names.
	Network string
	// Link is the host's side of it, for example "vnet3".
	Link string
}

// Network is a libvirt network.
type Network struct {
	Name   string
	Active bool
	// Subnets in which its DHCP server gives out addresses.
	Subnets []netip.Prefix
	// Hosts are its static addresses.
	Hosts []DHCPHost
}

// DHCPHost is a static address in a network.
type DHCPHost struct {
	MAC  string `json:"mac"`
	IP   string `json:"ip"`
	Name string `json:"name,omitempty"`
}

// pollEvery is how often a wait looks at the domain.
const pollEvery = 200 * time.Millisecond
