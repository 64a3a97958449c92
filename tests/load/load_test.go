//go:build load

package load_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	api "github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// few is the part of the workloads that one caller alone works through: it has to wait for each.
const few = 10

// idleFor is how long the fleet is watched while it has nothing to do.
const idleFor = 30 * time.Second

// load is a fleet of synthetic hosts, and what is measured on it.
type load struct {
	*harness.Fleet
	t        *testing.T
	temporal client.Client
	parts    []part
	hosts    int
	count    int
}

func newLoad(t *testing.T) *load {
	t.Helper()
	hosts, count := 50, 500
	if os.Getenv("BERTH_LOAD") == "full" {
		hosts, count = 200, 5000
	}
	l := &load{t: t, hosts: number(t, "BERTH_LOAD_HOSTS", hosts), count: number(t, "BERTH_LOAD_WORKLOADS", count)}
	l.Fleet = harness.NewFleet(t, harness.Synthetic(), harness.OnDisk())
	server := l.StartServer("--log-level", "warn")
	begin := time.Now()
	agent := l.StartAgent("load", "--synthetic", "--hosts", strconv.Itoa(l.hosts), "--log-level", "warn")
	l.awaitHosts(10*time.Minute, func(h v1.Host) bool { return h.State == v1.HostOnline })
	t.Logf("%d hosts online after %v", l.hosts, time.Since(begin).Round(10*time.Millisecond))
	l.temporal = l.Temporal.Client()
	l.parts = []part{{"temporal", l.Temporal.PID()}, {"server", server.PID()}, {"agents", agent.PID()}}
	return l
}

func TestLoad(t *testing.T) {
	l := newLoad(t)
	l.idle()
	for _, level := range []struct{ callers, count int }{{1, l.count / few}, {20, l.count}, {200, l.count}} {
		t.Run(fmt.Sprintf("%d callers", level.callers), func(t *testing.T) {
			own := *l
			own.t, own.Fleet = t, l.In(t)
			own.life(level.callers, level.count)
		})
	}
}

// life applies, stops and removes workloads, each phase with so many callers at once.
func (l *load) life(callers, count int) {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("w%d-%d", callers, i)
	}
	l.phase("apply", callers, names, func(ctx context.Context, c *caller, name string) (time.Duration, error) {
		w := &v1.Workload{
			APIVersion: v1.APIVersion, Kind: v1.KindContainer, Metadata: v1.Metadata{Name: name, Labels: map[string]string{"app": "load"}},
			Container: &v1.ContainerSpec{Image: "none", Resources: v1.Resources{CPUs: 100, Memory: 64 << 20}},
		}
		w.Default()
		sent := time.Now()
		if _, err := c.api.Put(ctx, w, false, api.Change{}); err != nil {
			return 0, err
		}
		return c.await(ctx, name, sent, v1.PhaseRunning)
	})
	l.events(names)
	l.awaitHosts(time.Minute, func(h v1.Host) bool { return h.State == v1.HostOnline })
	l.sweep(count)
	l.phase("stop", callers, names, func(ctx context.Context, c *caller, name string) (time.Duration, error) {
		return c.do(ctx, name, v1.VerbStop, v1.PhaseStopped)
	})
	l.phase("remove", callers, names, func(ctx context.Context, c *caller, name string) (time.Duration, error) {
		return c.do(ctx, name, v1.VerbRemove, v1.PhaseRemoved)
	})
	// Nothing leaks: the ledgers are empty again.
	l.awaitHosts(time.Minute, func(h v1.Host) bool { return h.Workloads == 0 && h.Reserved == (v1.Amounts{}) })
}

// awaitHosts waits until all hosts are as wanted.
func (l *load) awaitHosts(within time.Duration, wanted func(v1.Host) bool) {
	l.t.Helper()
	c := l.Client()
	var last v1.Host
	require.Eventuallyf(l.t, func() bool {
		good := 0
		for token := ""; ; {
			page, err := c.Hosts(l.t.Context(), 200, token)
			if err != nil {
				return false
			}
			for _, h := range page.Items {
				if wanted(h) {
					good++
				} else {
					last = h
				}
			}
			if token = page.NextPageToken; token == "" {
				return good == l.hosts
			}
		}
	}, within, 250*time.Millisecond, "not all hosts are as wanted; one is %+v", &last)
}

func number(t *testing.T, name string, other int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return other
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return n
}
