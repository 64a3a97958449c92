//go:build bench

package bench_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// TestObservation measures how long it takes, from the command that changes a workload behind Berth's back, until its
// entity has been told. Each change meets a workload of its own: one that is told of often is told of more rarely.
func TestObservation(t *testing.T) {
	guest, image := harness.GuestImage(t), harness.ContainerImage(t)
	b := newBench(t, "--allow-path", filepath.Dir(guest))
	container := func(name string) *v1.Workload { return b.container(name, image) }
	vm := func(name string) *v1.Workload { return b.vm(name, guest) }
	containerOf := func(name string) string {
		return strings.TrimSpace(run(t, "docker", "ps", "-q", "--filter", "label=berth.fleet="+b.ID, "--filter", "label=berth.workload="+name))
	}
	domainOf := func(name string) string { return domain(t, b.ID, name) }
	for _, c := range []struct {
		what     string
		workload func(string) *v1.Workload
		object   func(string) string
		change   []string
	}{
		{"docker kill", container, containerOf, []string{"docker", "kill"}},
		{"docker rm --force", container, containerOf, []string{"docker", "rm", "--force"}},
		{"virsh destroy", vm, domainOf, []string{"virsh", "destroy"}},
	} {
		var took, told []time.Duration
		for i := range rounds {
			name := fmt.Sprintf("o%d", i)
			b.deploy(c.workload(name))
			object := c.object(name)
			start := time.Now()
			run(t, c.change[0], append(c.change[1:], object)...)
			took = append(took, time.Since(start))
			harness.Eventually(t, func() bool {
				seen := b.Past(name).Observed
				if len(seen) > 0 {
					told = append(told, seen[0].Came.Sub(start))
				}
				return len(seen) > 0
			}, time.Minute, lookEvery)
			b.Do(name, v1.VerbRemove)
			b.AwaitGone(name, time.Minute)
		}
		slices.Sort(told)
		require.Len(t, told, rounds)
		t.Logf("%-20s takes %v itself; from its start to the entity: median %v, max %v of %d", c.what, median(took).Round(time.Millisecond),
			median(told).Round(time.Millisecond), told[rounds-1].Round(time.Millisecond), rounds)
	}
}
