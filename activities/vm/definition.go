package vm

import (
	"fmt"

	"libvirt.org/go/libvirtxml"

	v1 "github.com/berth-dev/berth/api/v1"
)

// tcgCache bounds the memory, in MiB, that an emulated guest's translated code takes beyond its own memory. QEMU's
// default is 1 GiB.
const tcgCache = 128

// definition is everything that a domain's XML follows from.
type definition struct {
	Name, UUID string
	Mark       mark
	// DomainType is libvirt's, for example kvm or qemu.
	DomainType string
	VCPUs      int
	Memory     v1.Bytes
	Firmware   v1.Firmware
	// Disks are attached in this order; the first is booted from.
	Disks []attachment
	// Seed is the path of the NoCloud seed, empty if there is none.
	Seed string
	// Networks have their MAC filled in.
	Networks []v1.Network
	// Console is the file to which the serial console is logged.
	Console string
}

// attachment is a disk as it is given to QEMU.
type attachment struct {
	Name, Path string
	Format     v1.DiskFormat
	ReadOnly   bool
	// Base is the image below an overlay, empty for a disk that stands alone.
	Base       string
	BaseFormat v1.DiskFormat
}

// xml writes the domain's definition.
func (d definition) xml() (string, error) {
	element, err := d.Mark.element()
	if err != nil {
		return "", fmt.Errorf("write the domain's metadata: %w", err)
	}
	domain := libvirtxml.Domain{
		Type: d.DomainType, Name: d.Name, UUID: d.UUID,
		Metadata: &libvirtxml.DomainMetadata{XML: element},
		Memory:   &libvirtxml.DomainMemory{Value: uint(d.Memory), Unit: "bytes"},
		VCPU:     &libvirtxml.DomainVCPU{Value: uint(d.VCPUs)},
		OS:       d.os(),
		Features: &libvirtxml.DomainFeatureList{ACPI: &libvirtxml.DomainFeature{}, APIC: &libvirtxml.DomainFeatureAPIC{}},
		CPU:      &libvirtxml.DomainCPU{Mode: "host-passthrough"},
		Clock:    &libvirtxml.DomainClock{Offset: "utc"},
		PM: &libvirtxml.DomainPM{ // a guest that suspends itself could not be told from one that hangs
			SuspendToMem:  &libvirtxml.DomainPMPolicy{Enabled: "no"},
			SuspendToDisk: &libvirtxml.DomainPMPolicy{Enabled: "no"},
		},
		// A guest's own reboot is not a stop; whatever else ends it leaves the domain off, and the host decides.
		OnPoweroff: "destroy", OnReboot: "restart", OnCrash: "destroy",
		Devices: d.devices(),
	}
	if d.DomainType != typeKVM {
		domain.CPU.Mode = "maximum"
	}
	if d.DomainType == typeQEMU {
		domain.Features.TCG = &libvirtxml.DomainFeatureTCG{
			TBCache: &libvirtxml.DomainFeatureTCGTBCache{Unit: "MiB", Size: tcgCache},
		}
	}
	text, err := domain.Marshal()
	if err != nil {
		return "", fmt.Errorf("write the domain's definition: %w", err)
	}
	return text, nil
}

func (d definition) os() *libvirtxml.DomainOS {
	os := &libvirtxml.DomainOS{Type: &libvirtxml.DomainOSType{Type: "hvm"}}
	if d.DomainType == typeKVM || d.DomainType == typeQEMU {
		os.Type.Machine = Machine
	}
	if d.Firmware == v1.FirmwareUEFI {
		os.Firmware = "efi"
		// With Secure Boot a guest whose loader nobody signed would not boot, and not say why.
		os.FirmwareInfo = &libvirtxml.DomainOSFirmwareInfo{
			Features: []libvirtxml.DomainOSFirmwareFeature{{Enabled: "no", Name: "secure-boot"}},
		}
	}
	return os
}
