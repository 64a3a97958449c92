package v1

// VMSpec describes one virtual machine.
type VMSpec struct {
	Common
	VCPUs  int   `json:"vcpus"`
	Memory Bytes `json:"memory"`
	// Disks are attached in this order; the first is booted from.
	Disks     []Disk     `json:"disks"`
	Networks  []Network  `json:"networks,omitempty"`
	CloudInit *CloudInit `json:"cloudInit,omitempty"`
	// Metadata is written into the domain's metadata, for tools on the host.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Firmware is bios (default) or uefi.
	Firmware Firmware `json:"firmware,omitempty"`
	// BootTimeout is how long a deploy waits for Readiness. Default 5m.
	BootTimeout Duration   `json:"bootTimeout,omitempty"`
	Readiness   *Readiness `json:"readiness,omitempty"`
}

// Firmware names what a virtual machine boots by.
type Firmware string

// The kinds of firmware.
const (
	FirmwareBIOS Firmware = "bios"
	FirmwareUEFI Firmware = "uefi"
)

// DiskMode says how a disk is made from its image.
type DiskMode string

// The disk modes: an overlay shares its image's blocks, a copy is independent of the image.
const (
	DiskOverlay DiskMode = "overlay"
	DiskCopy    DiskMode = "copy"
)

// DiskFormat is a disk image's format.
type DiskFormat string

// The formats of disks and images.
const (
	FormatQCOW2 DiskFormat = "qcow2"
	FormatRaw   DiskFormat = "raw"
)

// Disk is made from an image, blank, or an existing path that the user brought (which Berth never removes).
// Exactly one of Image, Path, or Size alone says which.
type Disk struct {
	// Name is unique in the workload; the disk is found again by it.
	Name  string     `json:"name"`
	Image *DiskImage `json:"image,omitempty"`
	// Path is an absolute path of the host, under a prefix that the host allows.
	Path string `json:"path,omitempty"`
	// Size of a blank disk, or to what a disk made from an image grows. Disks never shrink.
	Size Bytes `json:"size,omitempty"`
	// Mode is overlay (default) or copy, for a disk made from an image.
	Mode DiskMode `json:"mode,omitempty"`
	// Format of a disk at Path (required there), or of a blank disk (default qcow2).
	Format   DiskFormat `json:"format,omitempty"`
	ReadOnly bool       `json:"readOnly,omitempty"`
}

// DiskImage says where an image comes from. Exactly one of URL and Path is set.
type DiskImage struct {
	// URL with scheme http, https or file.
	URL string `json:"url,omitempty"`
	// Path is an absolute path of the host, under a prefix that the host allows.
	Path string `json:"path,omitempty"`
	// Checksum is "sha256:<64 hex>" or "sha512:<128 hex>". Strongly advised for a URL.
	Checksum string `json:"checksum,omitempty"`
	// Format is qcow2 (default) or raw.
	Format DiskFormat `json:"format,omitempty"`
}

// Network attaches a virtual machine to a libvirt network or to a bridge of the host. Exactly one of the two is set.
type Network struct {
	Network string `json:"network,omitempty"`
	Bridge  string `json:"bridge,omitempty"`
	// MAC is chosen from the workload's name and the position if empty, so that it stays the same.
	MAC string `json:"mac,omitempty"`
	// IP is a static address, given out by the libvirt network's DHCP to this MAC. Only with Network.
	IP string `json:"ip,omitempty"`
}

// CloudInit is what the guest reads from its NoCloud seed. UserData may hold secrets: it is never logged.
type CloudInit struct {
	UserData string `json:"userData,omitempty"`
	// MetaData defaults to an instance-id and the workload's name as local-hostname.
	MetaData      string `json:"metaData,omitempty"`
	NetworkConfig string `json:"networkConfig,omitempty"`
	VendorData    string `json:"vendorData,omitempty"`
}

// ReadyWhen says what counts as ready.
type ReadyWhen string

// What a deploy of a virtual machine can wait for.
const (
	ReadyRunning ReadyWhen = "running"
	ReadyAgent   ReadyWhen = "agent"
	ReadyConsole ReadyWhen = "console"
)

// Readiness says when a virtual machine counts as started: the domain runs (default), its guest agent answers, or a
// line on the serial console contains Line.
type Readiness struct {
	When ReadyWhen `json:"when"`
	Line string    `json:"line,omitempty"`
}
