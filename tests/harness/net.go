package harness

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Net is a network namespace with a link to this machine. What runs in it is as on a host of its own, which can be cut off.
type Net struct {
	// Name is the namespace's.
	Name string

	t testing.TB
	// link is this machine's end, gateway its address.
	link, gateway string
}

// NewNet makes a namespace for a host of the fleet, and removes it when the test ends.
func (f *Fleet) NewNet(host string) *Net {
	f.t.Helper()
	// Interfaces' names have at most 15 bytes. The fleet's id tells apart what tests leave behind.
	n := &Net{Name: f.ID + "-" + host, link: f.ID + "." + fmt.Sprint(len(f.nets)), t: f.t}
	f.nets = append(f.nets, n)
	peer := n.link + "p"
	// A network of two addresses out of those that are set apart for tests of networks.
	b := make([]byte, 3)
	_, err := rand.Read(b)
	require.NoError(f.t, err)
	subnet := net.IPv4(198, 18+b[0]%2, b[1], b[2]&^3)
	at := func(n byte) string { ip := subnet.To4(); return net.IPv4(ip[0], ip[1], ip[2], ip[3]+n).String() }
	n.gateway = at(1)

	f.t.Cleanup(func() {
		for _, args := range [][]string{{"link", "del", n.link}, {"netns", "del", n.Name}} {
			if out, err := try("ip", args...); err != nil && !strings.Contains(out, "Cannot find") && !strings.Contains(out, "No such") {
				f.t.Errorf("ip %s: %s", strings.Join(args, " "), out)
			}
		}
	})
	for _, args := range []string{
		"netns add " + n.Name,
		"link add " + n.link + " type veth peer name " + peer + " netns " + n.Name,
		"addr add " + n.gateway + "/30 dev " + n.link,
		"link set " + n.link + " up",
		"-n " + n.Name + " addr add " + at(2) + "/30 dev " + peer,
		"-n " + n.Name + " link set " + peer + " up",
		"-n " + n.Name + " link set lo up",
	} {
		output(f.t, "ip", strings.Fields(args)...)
	}
	return n
}

// Cut takes the link down: nothing goes in or out any more, and nobody is told.
func (n *Net) Cut() {
	n.t.Helper()
	output(n.t, "ip", "link", "set", n.link, "down")
}

// Heal undoes Cut.
func (n *Net) Heal() {
	n.t.Helper()
	output(n.t, "ip", "link", "set", n.link, "up")
}

// relay passes connections from inside on to an address of this machine's loopback, and returns where they are taken.
func (n *Net) relay(target string) string {
	n.t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(n.t.Context(), "tcp", net.JoinHostPort(n.gateway, "0"))
	require.NoError(n.t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(n.t.Context()))
	n.t.Cleanup(func() {
		cancel()
		_ = listener.Close()
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go pass(ctx, conn, target)
		}
	}()
	return listener.Addr().String()
}

// pass carries one connection's bytes in both directions, until either side ends or ctx does. A target that is away is as
// one that closes at once.
func pass(ctx context.Context, conn net.Conn, target string) {
	defer conn.Close()
	there, err := (&net.Dialer{}).DialContext(ctx, "tcp", target)
	if err != nil {
		return
	}
	defer there.Close()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{conn, there}, {there, conn}} {
		go func() {
			_, _ = io.Copy(way[0], way[1]) // an end is an end
			ended <- struct{}{}
		}()
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// inside lets a command run in the namespace.
func (n *Net) inside(c Command) Command {
	c.Args = append([]string{"--net=/run/netns/" + n.Name, "--", c.Path}, c.Args...)
	c.Path = "nsenter"
	return c
}
