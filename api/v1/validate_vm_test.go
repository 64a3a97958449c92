package v1

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestValidateVM(t *testing.T) {
	set := func(f func(v *VMSpec)) func(*Workload) { return func(w *Workload) { f(w.VM) } }
	runInvalid(t, minimalVM, []invalid{
		{"no vcpus", set(func(v *VMSpec) { v.VCPUs = 0 }), "spec.vcpus: must be from 1 to 255"},
		{"many vcpus", set(func(v *VMSpec) { v.VCPUs = 256 }), "spec.vcpus: must be from 1 to 255"},
		{"no memory", set(func(v *VMSpec) { v.Memory = 0 }), "spec.memory: is required"},
		{"little memory", set(func(v *VMSpec) { v.Memory = 1 << 20 }), "spec.memory: must be from 16Mi to 64Ti"},
		{"negative memory", set(func(v *VMSpec) { v.Memory = -1 << 30 }), "spec.memory: must be from 16Mi"},
		{"firmware", set(func(v *VMSpec) { v.Firmware = "UEFI" }), "spec.firmware: must be one of bios, uefi: did you mean uefi?"},
		{"boot timeout", set(func(v *VMSpec) { v.BootTimeout = -1 }), "spec.bootTimeout: must be from 1s"},
		{"long boot timeout", set(func(v *VMSpec) { v.BootTimeout = Duration(25 * time.Hour) }), "spec.bootTimeout: must be from 1s to 24h0m0s"},
		{"no when", set(func(v *VMSpec) { v.Readiness = new(Readiness) }), "spec.readiness.when: is required"},
		{"when", set(func(v *VMSpec) { v.Readiness = &Readiness{When: "boot"} }), "spec.readiness.when: must be one of"},
		{"no line", set(func(v *VMSpec) { v.Readiness = &Readiness{When: ReadyConsole} }), "spec.readiness.line: is required"},
		{"line of agent", set(func(v *VMSpec) { v.Readiness = &Readiness{When: ReadyAgent, Line: "x"} }), "spec.readiness.line: only with"},
		{"two lines", set(func(v *VMSpec) { v.Readiness = &Readiness{When: ReadyConsole, Line: "a\nb"} }), "spec.readiness.line: must be at most"},
		{"metadata key", set(func(v *VMSpec) { v.Metadata = map[string]string{"<a": "x"} }), `spec.metadata: the key "<a"`},
		{"metadata for XML", set(func(v *VMSpec) { v.Metadata = map[string]string{"a": "\x01"} }), "spec.metadata.a: must be text"},
		{"metadata no XML", set(func(v *VMSpec) { v.Metadata = map[string]string{"a": "\uFFFE"} }), "spec.metadata.a: must be text"},
		{"large metadata", set(func(v *VMSpec) { v.Metadata = map[string]string{"a": strings.Repeat("x", 9<<10)} }), "spec.metadata: takes"},
		{"empty cloud-init", set(func(v *VMSpec) { v.CloudInit = new(CloudInit) }), "spec.cloudInit: at least one of"},
		{"NUL in cloud-init", set(func(v *VMSpec) { v.CloudInit = &CloudInit{UserData: "a\x00"} }), "spec.cloudInit.userData: must be text"},
		{
			"large cloud-init", set(func(v *VMSpec) {
				v.CloudInit = &CloudInit{UserData: strings.Repeat("x", 40<<10), VendorData: strings.Repeat("y", 40<<10)}
			}), "spec.cloudInit: takes 81920 bytes in all; the limit is 65536",
		},
	})
}

func TestValidateDisks(t *testing.T) {
	disk := func(f func(d *Disk)) func(*Workload) { return func(w *Workload) { f(&w.VM.Disks[0]) } }
	url := func(u string) func(*Workload) {
		return disk(func(d *Disk) { d.Image = &DiskImage{URL: u} })
	}
	add := func(d ...Disk) func(*Workload) { return func(w *Workload) { w.VM.Disks = append(w.VM.Disks, d...) } }
	runInvalid(t, minimalVM, []invalid{
		{"none", func(w *Workload) { w.VM.Disks = nil }, "spec.disks: is required"},
		{"many", func(w *Workload) { w.VM.Disks = make([]Disk, 17) }, "spec.disks: at most 16, not 17"},
		{"no name", disk(func(d *Disk) { d.Name = "" }), "spec.disks[0].name: is required"},
		{"name", disk(func(d *Disk) { d.Name = "../x" }), "spec.disks[0].name: must be"},
		{"same name", add(Disk{Name: "root", Size: 1 << 30}), "spec.disks[1].name: is the same as spec.disks[0].name"},
		{"two sources", disk(func(d *Disk) { d.Path = "/x" }), "spec.disks[0]: exactly one of image, path, or size alone"},
		{"no source", add(Disk{Name: "b"}), "spec.disks[1]: one of image, path or size is required"},
		{"mode", disk(func(d *Disk) { d.Mode = "clone" }), "spec.disks[0].mode: must be one of overlay, copy"},
		{"mode of blank", add(Disk{Name: "b", Size: 1 << 30, Mode: DiskCopy}), "spec.disks[1].mode: only for a disk made from an image"},
		{"mode of path", add(Disk{Name: "b", Path: "/b", Format: FormatRaw, Mode: DiskCopy}), "spec.disks[1].mode: only for"},
		{"format of path", add(Disk{Name: "b", Path: "/b"}), "spec.disks[1].format: is required"},
		{"format of blank", add(Disk{Name: "b", Size: 1 << 30, Format: "vmdk"}), "spec.disks[1].format: must be one of qcow2, raw"},
		{"format beside image", disk(func(d *Disk) { d.Format = FormatRaw }), "spec.disks[0].format: not for a disk made from an image"},
		{"format of image", disk(func(d *Disk) { d.Image.Format = "vdi" }), "spec.disks[0].image.format: must be one of"},
		{"size of path", add(Disk{Name: "b", Path: "/b", Format: FormatRaw, Size: 1 << 30}), "spec.disks[1].size: not for a disk at a path"},
		{"small blank", add(Disk{Name: "b", Size: 1}), "spec.disks[1].size: must be from 1Mi to 64Ti"},
		{"negative size", disk(func(d *Disk) { d.Size = -1 }), "spec.disks[0].size: must be from 1Mi"},
		{"read-only blank", add(Disk{Name: "b", Size: 1 << 30, ReadOnly: true}), "spec.disks[1].readOnly: not for a blank disk"},
		{"relative path", add(Disk{Name: "b", Path: "b.raw", Format: FormatRaw}), "spec.disks[1].path: must be an absolute path"},
		{
			"same path", add(Disk{Name: "b", Path: "/b", Format: FormatRaw}, Disk{Name: "c", Path: "/b", Format: FormatRaw}),
			"spec.disks[2].path: is the same as spec.disks[1].path",
		},
		{"no image source", disk(func(d *Disk) { d.Image.Path = "" }), "spec.disks[0].image: exactly one of url and path"},
		{"two image sources", disk(func(d *Disk) { d.Image.URL = "file:///x" }), "spec.disks[0].image: exactly one of url and path"},
		{"image path", disk(func(d *Disk) { d.Image.Path = "/a/../b" }), "spec.disks[0].image.path: must be a path without"},
		{"checksum", disk(func(d *Disk) { d.Image.Checksum = "md5:aa" }), "spec.disks[0].image.checksum: must be sha256:"},
		{"short checksum", disk(func(d *Disk) { d.Image.Checksum = "sha512:" + strings.Repeat("a", 64) }), "spec.disks[0].image.checksum"},
		{"scheme", url("ftp://example.com/x"), "spec.disks[0].image.url: must begin with http://"},
		{"no scheme", url("/x"), "spec.disks[0].image.url: must begin with http://"},
		{"no host", url("http:///x"), "spec.disks[0].image.url: must name a host"},
		{"no such port", url("http://example.com:99999/x"), "spec.disks[0].image.url: must name a port from 1 to 65535, or none"},
		{"port only", url("http://:80/x"), "spec.disks[0].image.url: must name a host"},
		{"opaque", url("http:x"), "spec.disks[0].image.url: must be of the form"},
		{"user", url("http://u:hunter2@example.com/x"), "spec.disks[0].image.url: must hold no user and password"},
		{"fragment", url("http://example.com/x#y"), "spec.disks[0].image.url: must have no fragment"},
		{"broken", url("http://[::1/x?hunter2"), "spec.disks[0].image.url: is not a URL"},
		{"control", url("http://example.com/\n"), "spec.disks[0].image.url: must be a URL"},
		{"file host", url("file://example.com/x"), "spec.disks[0].image.url: a file URL must be"},
		{"file climbing", url("file:///a/../b"), "spec.disks[0].image.url: the path must be a path without"},
		{"file climbing, escaped", url("file:///a/%2e%2e/b"), "spec.disks[0].image.url: the path must be a path without"},
		{"file NUL", url("file:///a%00"), "spec.disks[0].image.url: the path must be UTF-8"},
	})
	for _, u := range []string{"http://user:hunter2@h/x", "http://[::1/hunter2", "gopher://h/hunter2", "http://h/#hunter2"} {
		w := minimalVM()
		url(u)(w)
		require.Error(t, w.Validate())
		require.NotContains(t, w.Validate().Error(), "hunter2")
	}
	for _, u := range []string{"http://h/x", "https://h:8443/x?sig=a%2Fb", "file:///x/y.qcow2", "file://localhost/x"} {
		w := minimalVM()
		url(u)(w)
		require.NoError(t, w.Validate(), u)
	}
}

func TestValidateNetworks(t *testing.T) {
	nets := func(n ...Network) func(*Workload) { return func(w *Workload) { w.VM.Networks = n } }
	runInvalid(t, minimalVM, []invalid{
		{"neither", nets(Network{}), "spec.networks[0]: exactly one of network and bridge"},
		{"both", nets(Network{Network: "a", Bridge: "b"}), "spec.networks[0]: exactly one of network and bridge"},
		{"name", nets(Network{Network: "a/b"}), "spec.networks[0].network: must be the name"},
		{"long bridge", nets(Network{Bridge: "abcdefghijklmnop"}), "spec.networks[0].bridge: must be the name"},
		{"mac", nets(Network{Network: "a", MAC: "52:54:00:12:34"}), "spec.networks[0].mac: must be a MAC address"},
		{"long mac", nets(Network{Network: "a", MAC: "02:00:5e:10:00:00:00:01"}), "spec.networks[0].mac: must be a MAC address"},
		{"multicast mac", nets(Network{Network: "a", MAC: "01:00:5e:00:00:01"}), "spec.networks[0].mac: must be a unicast address"},
		{"zero mac", nets(Network{Network: "a", MAC: "00:00:00:00:00:00"}), "spec.networks[0].mac: must not be all zero"},
		{
			"same mac", nets(Network{Network: "a", MAC: "52:54:00:12:34:AB"}, Network{Network: "a", MAC: "52-54-00-12-34-ab"}),
			"spec.networks[1].mac: is the same as spec.networks[0].mac",
		},
		{"ip on a bridge", nets(Network{Bridge: "br0", IP: "10.0.0.1"}), "spec.networks[0].ip: only with network"},
		{"ip", nets(Network{Network: "a", IP: "10.0.0.1/24"}), "spec.networks[0].ip: must be an IPv4 address"},
		{"ipv6", nets(Network{Network: "a", IP: "fd00::1"}), "spec.networks[0].ip: must be an IPv4 address"},
		{"loopback", nets(Network{Network: "a", IP: "127.0.0.1"}), "spec.networks[0].ip: must be an address that a machine can have"},
		{"same ip", nets(Network{Network: "a", IP: "10.0.0.1"}, Network{Network: "a", IP: "10.0.0.1"}), "spec.networks[1].ip: is the same as"},
		{"many", nets(make([]Network, 9)...), "spec.networks: at most 8"},
	})
}
