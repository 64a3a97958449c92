//go:build load

package load_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	api "github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

const (
	// atOnce is how many fetches, copies and boots are under way at a time.
	atOnce = 4
	// beatEvery makes for enough beats in stormFor to speak of a 99th percentile.
	beatEvery = time.Second
	stormFor  = 150 * time.Second
	// copySize is what each copy copies.
	copySize = 1 << 30
)

// storm is one real host with much to do.
type storm struct {
	*harness.Fleet
	t     *testing.T
	agent *harness.Agent
	dir   string
	// done is closed when the storm is over.
	done chan struct{}
	all  sync.WaitGroup
	mu   sync.Mutex
	errs []error
	did  map[string]int
}

// TestTheHeartbeatIsUnblockable measures the gaps between the acknowledged beats of an agent, and how long a stop takes, while
// four images are fetched, four disks copied and four machines booted, and both cores are busy.
func TestTheHeartbeatIsUnblockable(t *testing.T) {
	s := &storm{Fleet: harness.NewFleet(t, harness.OnDisk()), t: t, dir: harness.OpenDir(t, "storm"), done: make(chan struct{}), did: map[string]int{}}
	timings := []string{"--beat", beatEvery.String(), "--lease", "15s"}
	s.StartServer(append([]string{"--log-level", "warn"}, timings...)...)
	s.agent = s.StartAgent("h1", append([]string{
		"--log-level", "debug", "--allow-path", s.dir, "--cpus", "64", "--memory", "64Gi", "--disk", "64Gi",
	}, timings...)...)
	s.AwaitHost("h1", time.Minute, v1.HostOnline)

	stops := s.containers("stop", 12)
	calm := s.stop(stops[:2])
	s.boots()
	s.copies() // before the fetches, which take all slots of downloads: the copies' image has to come into the cache
	s.fetches()
	s.burn()
	from := len(s.agent.Log())
	begin := time.Now()
	stormy := s.stopWithin(stops[2:], stormFor)
	log := s.agent.Log()[from:]
	elapsed := time.Since(begin)
	close(s.done)
	s.all.Wait()
	require.Empty(t, s.errs)

	gaps := gapsIn(t, log)
	at := func(q float64) time.Duration { return gaps[int(q*float64(len(gaps)-1))].Round(time.Millisecond) }
	t.Logf("beats every %v for %v: gaps p50 %v   p99 %v   max %v   (%d)", beatEvery, elapsed.Round(time.Second), at(0.5), at(0.99), at(1), len(gaps))
	t.Logf("meanwhile: %v", s.did)
	t.Logf("stop of another workload, beyond what the engine takes: at rest %v, in the storm %v", calm, stormy)
	require.Less(t, at(0.99), 2*beatEvery, "the 99th percentile of the gaps")
	require.Greater(t, float64(len(gaps)), 0.8*elapsed.Seconds()/beatEvery.Seconds(), "beats are missing")
	slices.Sort(stormy)
	require.Less(t, stormy[len(stormy)/2], time.Second, "a stop beyond what the engine takes, half of them")
	for _, what := range []string{"copies", "boots"} {
		require.GreaterOrEqual(t, s.did[what], atOnce, "there was no storm: %v", s.did)
	}
}

// gapsIn are the gaps that the agent has logged, sorted.
func gapsIn(t *testing.T, log string) []time.Duration {
	t.Helper()
	var gaps []time.Duration
	for _, m := range regexp.MustCompile(`msg=beat .*gap=(\S+)`).FindAllStringSubmatch(log, -1) {
		d, err := time.ParseDuration(m[1])
		require.NoError(t, err)
		gaps = append(gaps, d)
	}
	require.NotEmpty(t, gaps)
	slices.Sort(gaps)
	return gaps
}

// keep runs do over and over beside the test, until the storm is over, and counts how often.
func (s *storm) keep(what string, do func(ctx context.Context) error) {
	s.all.Go(func() {
		for {
			err := do(s.t.Context())
			select {
			case <-s.done:
				return // what was under way when it ended says nothing
			default:
			}
			s.mu.Lock()
			s.did[what]++
			if err != nil {
				s.errs = append(s.errs, fmt.Errorf("%s: %w", what, err))
			}
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
}

// boots restarts machines over and over, each until its guest says that it is ready.
func (s *storm) boots() {
	image := filepath.Join(s.dir, "guest.qcow2")
	data, err := os.ReadFile(harness.GuestImage(s.t))
	require.NoError(s.t, err)
	require.NoError(s.t, os.WriteFile(image, data, 0o644))
	for i := range atOnce {
		name := fmt.Sprint("boot-", i)
		s.Apply(s.vm(name, "{name: root, image: {path: "+image+"}}", "readiness: {when: console, line: GUEST-READY}"))
	}
	for i := range atOnce {
		name := fmt.Sprint("boot-", i)
		s.AwaitPhase(name, 5*time.Minute, v1.PhaseRunning)
		s.keep("boots", func(ctx context.Context) error { return s.do(ctx, name, v1.VerbRestart) })
	}
}

// fetches are slow enough to be under way all the time.
func (s *storm) fetches() {
	for i := range atOnce {
		path := s.random(fmt.Sprint("fetch-", i, ".raw"), 64<<20)
		server := harness.ServeFile(s.t, path)
		server.Set(harness.Trouble{BytesPerSecond: (64 << 20) / int64(2*stormFor.Seconds())})
		s.Apply(s.vm(fmt.Sprint("fetch-", i), "{name: root, image: {url: '"+server.URL+"', format: raw}}"))
		require.Eventually(s.t, func() bool { return server.Served().Bytes > 0 }, time.Minute, 100*time.Millisecond)
	}
}

// copies makes machines whose disk is a whole copy of a large image, and removes them.
func (s *storm) copies() {
	image := s.random("copy.raw", copySize)
	for i := range atOnce {
		w := s.vm(fmt.Sprint("copy-", i), "{name: root, mode: copy, image: {path: "+image+", format: raw}}", "stopGracePeriod: 1s")
		s.keep("copies", func(ctx context.Context) error {
			c, err := s.client()
			if err != nil {
				return err
			}
			if _, err := c.Put(ctx, w, false, api.Change{}); err != nil {
				return err
			}
			if err := s.await(ctx, c, w.Metadata.Name, v1.PhaseRunning); err != nil {
				return err
			}
			return s.do(ctx, w.Metadata.Name, v1.VerbRemove)
		})
	}
	require.Eventually(s.t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.did["copies"] > 0 || len(s.errs) > 0
	}, 5*time.Minute, 100*time.Millisecond)
}

// burn keeps both cores busy.
func (s *storm) burn() {
	for range 2 {
		p := harness.Run(s.t, harness.Command{Name: "burn", Path: "/bin/sh", Args: []string{"-c", "while :; do :; done"}})
		s.all.Go(func() {
			<-s.done
			p.Kill()
		})
	}
}

func (s *storm) vm(name, disk string, lines ...string) *v1.Workload {
	text := "apiVersion: berth/v1\nkind: VM\nmetadata: {name: " + name + "}\nspec:\n  vcpus: 1\n  memory: 128Mi\n  disks:\n  - " + disk + "\n"
	return s.Parse(text + "  " + strings.Join(lines, "\n  ") + "\n")
}

func (s *storm) random(name string, size int64) string {
	path := filepath.Join(s.dir, name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	require.NoError(s.t, err)
	block := make([]byte, 1<<20)
	_, err = rand.Read(block)
	require.NoError(s.t, err)
	for i := int64(0); i < size; i += int64(len(block)) {
		block[0], block[1] = byte(i>>20), byte(len(name)) // no two files are the same
		_, err = f.Write(block)
		require.NoError(s.t, err)
	}
	require.NoError(s.t, f.Close())
	return path
}
