package faults

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "go.temporal.io/sdk/client"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

const hostName = "h1"

// full says whether the whole matrix is run, with the timings of production.
func full() bool { return os.Getenv("BERTH_FAULTS") == "full" }

// within bounds each wait. It is generous: a loaded machine is no failure.
const within = 5 * time.Minute

// pace scales the timings down, except in the full matrix. What a step may show no sign of life is longer than it takes
// to bring a batch of workloads to their failpoints: a place that holds a step's heartbeats would be passed by a retry.
func pace() []string {
	if full() {
		return nil
	}
	return []string{
		"--beat", "1s", "--lease", "6s", "--grace", "6s", "--grant", "30s", "--backoff-min", "200ms", "--backoff-max", "3s",
		"--activity-heartbeat", "8s",
	}
}

// fleet is the installation that a test's cases share.
type fleet struct {
	*harness.Fleet
	t        *testing.T
	client   *client.Client
	temporal sdk.Client
	server   *harness.Process
	agent    *harness.Agent

	container string // an image
	guest     served // a disk image that boots
	network   network
	images    string // a directory whose files are served at imagesURL
	imagesURL string
	cases     int // how many workloads were named
}

// served is a file with the address where it is served.
type served struct{ url, checksum string }

// newFleet starts a fleet of one host with room for many workloads at once, all of which may be in the midst of a step.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{Fleet: harness.NewFleet(t, harness.Failpoints()), t: t}
	f.server = f.StartServer(pace()...)
	f.agent = f.StartAgent(hostName, append(pace(),
		"--cpus", "400", "--memory", "400Gi", "--disk", "4000Gi", "--max-concurrent-creates", "100")...)
	f.AwaitHost(hostName, within, v1.HostOnline)
	f.temporal = f.Temporal.Client()
	var err error
	f.client, err = client.New(client.Options{Address: f.API, Patience: 3 * time.Minute})
	require.NoError(t, err)

	f.images = t.TempDir()
	server := httptest.NewServer(http.FileServer(http.Dir(f.images)))
	t.Cleanup(server.Close)
	f.imagesURL = server.URL
	f.container = harness.ContainerImage(t)
	f.guest = f.serve("guest.qcow2", harness.GuestImage(t))
	f.network = newNetwork(t, f.ID)
	t.Cleanup(func() { clearLogs(t, f.ID) })
	return f
}

// clearLogs removes what libvirt keeps of domains that are gone.
func clearLogs(t *testing.T, id string) {
	logs, err := filepath.Glob("/var/log/libvirt/qemu/berth." + id + ".*")
	require.NoError(t, err)
	for _, path := range logs {
		require.NoError(t, os.Remove(path))
	}
}

// serve offers a file under a name.
func (f *fleet) serve(name, path string) served {
	f.t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(f.t, err)
	if target := filepath.Join(f.images, name); target != path {
		require.NoError(f.t, os.WriteFile(target, data, 0o600))
	}
	sum := sha256.Sum256(data)
	return served{url: f.imagesURL + "/" + name, checksum: "sha256:" + hex.EncodeToString(sum[:])}
}

// until looks again and again until there is nothing to complain about, and returns the last complaint if that takes too
// long.
func until(ctx context.Context, limit time.Duration, look func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		err := look(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil {
			last = err // what is said at the end is not that the time was over
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return last
		}
	}
}
