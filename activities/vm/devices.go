package vm

import (
	"libvirt.org/go/libvirtxml"

	v1 "github.com/berth-dev/berth/api/v1"
)

// serialLength is how long a virtio disk's serial number may be.
const serialLength = 20

func (d definition) devices() *libvirtxml.DomainDeviceList {
	zero := uint(0)
	list := &libvirtxml.DomainDeviceList{
		Controllers: []libvirtxml.DomainController{{Type: "usb", Model: "none"}},
		Serials: []libvirtxml.DomainSerial{{
			Source: &libvirtxml.DomainChardevSource{Pty: &libvirtxml.DomainChardevSourcePty{}},
			Target: &libvirtxml.DomainSerialTarget{Port: &zero},
			Log:    &libvirtxml.DomainChardevLog{File: d.Console, Append: "on"},
		}},
		Consoles: []libvirtxml.DomainConsole{{
			Source: &libvirtxml.DomainChardevSource{Pty: &libvirtxml.DomainChardevSourcePty{}},
			Target: &libvirtxml.DomainConsoleTarget{Type: "serial", Port: &zero},
		}},
		Channels: []libvirtxml.DomainChannel{{
			Source: &libvirtxml.DomainChardevSource{UNIX: &libvirtxml.DomainChardevSourceUNIX{}},
			Target: &libvirtxml.DomainChannelTarget{
				VirtIO: &libvirtxml.DomainChannelTargetVirtIO{Name: "org.qemu.guest_agent.0"},
			},
		}},
		RNGs: []libvirtxml.DomainRNG{{
			Model:   "virtio",
			Backend: &libvirtxml.DomainRNGBackend{Random: &libvirtxml.DomainRNGBackendRandom{Device: "/dev/urandom"}},
		}},
		// A kernel's panic reaches libvirt through it, as a crash and not as a hang.
		Panics: []libvirtxml.DomainPanic{{Model: "isa"}},
	}
	for i, a := range d.Disks {
		disk := a.device(i)
		if i == 0 {
			disk.Boot = &libvirtxml.DomainDeviceBoot{Order: 1}
		}
		list.Disks = append(list.Disks, disk)
	}
	if d.Seed != "" {
		// Not a CD-ROM: the kernels of cloud images need not have a driver for one.
		seed := attachment{Path: d.Seed, Format: v1.FormatRaw, ReadOnly: true}
		list.Disks = append(list.Disks, seed.device(len(d.Disks)))
	}
	for _, n := range d.Networks {
		list.Interfaces = append(list.Interfaces, networkCard(n))
	}
	return list
}

// device is the virtio disk at an index. Its whole chain of files is spelled out, so that libvirt looks into none.
func (a attachment) device(index int) libvirtxml.DomainDisk {
	disk := libvirtxml.DomainDisk{
		Device:       "disk",
		Driver:       &libvirtxml.DomainDiskDriver{Name: "qemu", Type: string(a.Format), Discard: "unmap"},
		Source:       &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: a.Path}},
		BackingStore: &libvirtxml.DomainDiskBackingStore{},
		Target:       &libvirtxml.DomainDiskTarget{Dev: diskTarget(index), Bus: "virtio"},
		Serial:       a.Name[:min(len(a.Name), serialLength)],
	}
	if a.ReadOnly {
		disk.ReadOnly = &libvirtxml.DomainDiskReadOnly{}
	}
	if a.Base != "" {
		disk.BackingStore = &libvirtxml.DomainDiskBackingStore{
			Format: &libvirtxml.DomainDiskFormat{Type: string(a.BaseFormat)},
			Source: &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{
				File: a.Base,
				// The image is shared and readable by all: libvirt must not make it QEMU's.
				SecLabel: []libvirtxml.DomainDeviceSecLabel{{Model: "dac", Relabel: "no"}},
			}},
			BackingStore: &libvirtxml.DomainDiskBackingStore{},
		}
	}
	return disk
}

// diskTarget names the disk at an index: vda to vdz, then vdaa and on.
func diskTarget(index int) string {
	name := ""
	for n := index; n >= 0; n = n/26 - 1 {
		name = string(rune('a'+n%26)) + name
	}
	return "vd" + name
}

func networkCard(n v1.Network) libvirtxml.DomainInterface {
	card := libvirtxml.DomainInterface{
		MAC:    &libvirtxml.DomainInterfaceMAC{Address: n.MAC},
		Model:  &libvirtxml.DomainInterfaceModel{Type: "virtio"},
		Source: &libvirtxml.DomainInterfaceSource{},
	}
	if n.Bridge != "" {
		card.Source.Bridge = &libvirtxml.DomainInterfaceSourceBridge{Bridge: n.Bridge}
	} else {
		card.Source.Network = &libvirtxml.DomainInterfaceSourceNetwork{Network: n.Network}
	}
	return card
}
