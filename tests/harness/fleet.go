package harness

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/deadline"
)

// Fleet is an installation of its own for one test: its id marks all that it makes on this machine, and all that is
// removed when the test ends.
type Fleet struct {
	// ID is the fleet id, unique to the test.
	ID string
	// API is the address of the first server, "http://127.0.0.1:PORT".
	API      string
	Temporal *Temporal
	Servers  []*Process
	Agents   []*Agent
	Guards   []*Process
	// FailpointsDir holds the switches of failpoints; see Failpoints.
	FailpointsDir string
	// RunDir is what agents and guards share, on tmpfs.
	RunDir string

	t         testing.TB
	nets      []*Net
	binary    string
	env       []string
	synthetic bool
	onDisk    bool
}

// Agent is a host's agent.
type Agent struct {
	*Process
	Host    string
	DataDir string
}

// Option changes a fleet.
type Option func(*Fleet)

// Failpoints runs the build with failpoints (bin/berth-faults).
func Failpoints() Option { return func(f *Fleet) { f.binary = "berth-faults" } }

// Env adds to the environment of all servers and agents.
func Env(env ...string) Option { return func(f *Fleet) { f.env = append(f.env, env...) } }

// Synthetic is for fleets whose agents run with --synthetic: this machine needs no runtimes, and nothing is left on it.
func Synthetic() Option { return func(f *Fleet) { f.synthetic = true } }

// OnDisk is for measurements: Temporal keeps its state on a disk, as a user's does. Else it is in memory, which outlives the server
// as well: it syncs with each beat of a lease, and a disk that stalls for longer than the short leases of tests would end them.
func OnDisk() Option { return func(f *Fleet) { f.onDisk = true } }

// NewFleet starts Temporal, and brings up this machine's runtimes if they do not run. Servers and agents are started by
// StartServer and StartAgent.
func NewFleet(t testing.TB, options ...Option) *Fleet {
	t.Helper()
	f := &Fleet{ID: uniqueID(t), t: t, binary: "berth", FailpointsDir: t.TempDir(), RunDir: MemoryDir(t)}
	for _, o := range options {
		o(f)
	}
	f.env = append(f.env, "BERTH_FAILPOINTS_DIR="+f.FailpointsDir)
	if !f.synthetic {
		Require(t)
		// Runs last: what the fleet made on the host goes when nothing of the fleet runs any more.
		t.Cleanup(func() { ClearHost(t, f.ID) })
	}
	dir := t.TempDir()
	if !f.onDisk {
		dir = MemoryDir(t)
	}
	f.Temporal = StartTemporal(t, dir)
	return f
}

// In is the same fleet for a subtest: its failures end that one, and what it waits for ends with it. Servers and agents
// that it starts end with it as well.
func (f *Fleet) In(t testing.TB) *Fleet {
	own := *f
	own.t = t
	own.Servers, own.Agents, own.Guards = slices.Clone(f.Servers), slices.Clone(f.Agents), slices.Clone(f.Guards)
	return &own
}

// StartServer starts `berth server` on a free port, and waits until it is ready. Args are added to its arguments.
func (f *Fleet) StartServer(args ...string) *Process {
	f.t.Helper()
	listen := net.JoinHostPort("127.0.0.1", strconv.Itoa(FreePort(f.t)))
	url := "http://" + listen
	if f.API == "" {
		f.API = url
	}
	p := f.run("server-"+strconv.Itoa(len(f.Servers)+1), ready(url+"/healthz/ready"),
		append([]string{
			"server", "--listen", listen, "--insecure-dev", "--plaintext-history",
			"--temporal-address", f.Temporal.Address, "--namespace", f.Temporal.Namespace, "--fleet", f.ID,
		}, args...))
	f.Servers = append(f.Servers, p)
	return p
}

// StartAgent starts `berth agent` for a host of this name, with a data directory of its own. Whether the host is online
// is for the test to wait for. Args are added to its arguments.
func (f *Fleet) StartAgent(host string, args ...string) *Agent {
	f.t.Helper()
	return f.startAgent(host, func(c Command) Command { return c }, args)
}

func (f *Fleet) startAgent(host string, inside func(Command) Command, args []string) *Agent {
	f.t.Helper()
	dir := OpenDir(f.t, host)
	p := Run(f.t, inside(f.command("agent-"+host, nil, append([]string{
		"agent", "--host-id", host, "--data-dir", filepath.Join(dir, "data"), "--run-dir", f.RunDir,
		"--temporal-address", f.Temporal.Address, "--namespace", f.Temporal.Namespace, "--fleet", f.ID,
	}, args...))))
	a := &Agent{Process: p, Host: host, DataDir: filepath.Join(dir, "data")}
	f.Agents = append(f.Agents, a)
	return a
}

// StartGuard starts `berth guard` for a host, and waits until it guards. Args are added to its arguments.
func (f *Fleet) StartGuard(host string, args ...string) *Process {
	f.t.Helper()
	dir := deadline.DirOf(f.RunDir, f.ID, host)
	guarding := func(context.Context) error {
		if !dir.Guarded() {
			return errors.New("it has shown no sign of life")
		}
		return nil
	}
	p := f.run("guard-"+host, guarding, append([]string{"guard", "--host-id", host, "--fleet", f.ID, "--run-dir", f.RunDir}, args...))
	f.Guards = append(f.Guards, p)
	return p
}

// StartAgentIn is StartAgent for a host in a namespace of its own.
func (f *Fleet) StartAgentIn(n *Net, host string, args ...string) *Agent {
	f.t.Helper()
	return f.startAgent(host, n.inside, append([]string{"--temporal-address", n.relay(f.Temporal.Address)}, args...))
}

func (f *Fleet) run(name string, isReady func(context.Context) error, args []string) *Process {
	f.t.Helper()
	return Run(f.t, f.command(name, isReady, args))
}

func (f *Fleet) command(name string, isReady func(context.Context) error, args []string) Command {
	return Command{Name: name, Path: Binary(f.t, f.binary), Args: args, Env: f.env, Ready: isReady}
}

// CLI runs the berth CLI against the first server, and returns its exit code and what it printed.
func (f *Fleet) CLI(args ...string) (int, string) {
	f.t.Helper()
	p := Run(f.t, Command{
		Name: "cli", Path: Binary(f.t, f.binary), Args: args, Env: append([]string{"BERTH_ADDRESS=" + f.API}, f.env...),
	})
	code := p.Await(10 * time.Minute)
	return code, p.Log()
}

// Call sends a request to the first server, and returns the status and the body. A body that is not a string, bytes or
// nil is sent as JSON.
func (f *Fleet) Call(method, path string, body any, headers ...string) (int, []byte) {
	f.t.Helper()
	status, data, err := f.TryCall(f.t.Context(), method, path, body, headers...)
	require.NoErrorf(f.t, err, "%s %s", method, path)
	return status, data
}

// TryCall is Call for requests that may fail, and for goroutines. Headers are "Name: value" each.
func (f *Fleet) TryCall(ctx context.Context, method, path string, body any, headers ...string) (int, []byte, error) {
	var payload []byte
	switch b := body.(type) {
	case nil:
	case string:
		payload = []byte(b)
	case []byte:
		payload = b
	default:
		var err error
		if payload, err = json.Marshal(b); err != nil {
			return 0, nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, f.API+path, bytes.NewReader(payload))
	if err != nil {
		return 0, nil, err
	}
	if payload != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, data, err
}

// ready asks a health address.
func ready(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return nil
		}
		data, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10)) // only to say more
		return fmt.Errorf("%s: %s %s", url, res.Status, data)
	}
}

// uniqueID is short, as it stands in names of domains and in paths of sockets.
func uniqueID(t testing.TB) string {
	t.Helper()
	b := make([]byte, 4)
	_, err := rand.Read(b)
	require.NoError(t, err)
	return fmt.Sprintf("t%x", b)
}
