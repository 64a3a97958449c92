// Package libvirt drives virtual machines through a local libvirtd. It is thin: it knows libvirt's calls, their limits
// and their errors, and nothing of workloads.
package libvirt

import (
	"cmp"
	"log/slog"
	"net/url"

	"github.com/berth-dev/berth/activities/vm"
)

const (
	// DefaultSocket is where libvirtd listens.
	DefaultSocket = "/var/run/libvirt/libvirt-sock"
	// DefaultURI is the system's QEMU.
	DefaultURI = "qemu:///system"
)

// Config says which libvirt to use.
type Config struct {
	// Socket is libvirtd's local socket. Default: DefaultSocket.
	Socket string
	// URI is the hypervisor's. Default: DefaultURI. As in libvirt's own tools it may name the socket:
	// "qemu:///system?socket=/run/other.sock".
	URI string
	Log *slog.Logger
}

// Driver implements vm.Driver. It connects when it is first used, and again after libvirtd was restarted.
type Driver struct {
	socket, uri string
	log         *slog.Logger
	hung        hungCalls
	// Calls that a guest answers have a connection of their own: libvirt serves only a few calls of one at a time.
	quick, slow lane
}

var _ vm.Driver = (*Driver)(nil)

// New returns a driver. It does not connect yet.
func New(cfg Config) *Driver {
	uri, socket := splitURI(cfg.URI)
	d := &Driver{
		socket: cmp.Or(cfg.Socket, socket), uri: uri, log: cfg.Log, hung: hungCalls{n: map[string]int{}}, quick: newLane(), slow: newLane(),
	}
	if d.socket == "" {
		d.socket = DefaultSocket
	}
	if d.uri == "" {
		d.uri = DefaultURI
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	return d
}

// splitURI takes the socket out of a URI: which socket it is, is no affair of libvirtd's.
func splitURI(uri string) (rest, socket string) {
	u, err := url.Parse(uri)
	if err != nil {
		return uri, "" // libvirt says better what is wrong with it
	}
	query := u.Query()
	socket = query.Get("socket")
	if socket == "" {
		return uri, ""
	}
	query.Del("socket")
	u.RawQuery = query.Encode()
	return u.String(), socket
}

// Close gives the connections up, each as soon as no call is under way on it.
func (d *Driver) Close() {
	d.quick.close()
	d.slow.close()
}
