package e2e

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// TestFetchesOfOneImageAreOneDownload has more machines wait for an image than the host copies disks or fetches images at a time.
// While they wait, another one's image is fetched and its disk is made: waiting takes neither kind of slot.
func TestFetchesOfOneImageAreOneDownload(t *testing.T) {
	t.Parallel()
	const slots, waiters, size = 2, 4, 4 << 20
	f := fleet(t, "--max-concurrent-creates", fmt.Sprint(slots), "--stall-timeout", "10m", "--cpus", "8", "--lease", "1m")
	path, slow := randomImage(t, size)
	sum := sha256Of(t, path)
	slow.Set(harness.Trouble{StallAfter: size / 2})
	var names []string
	for i := range waiters {
		name := fmt.Sprintf("waits-%d", i)
		names = append(names, name)
		w := raw(f, name, slow.URL, sum)
		w.VM.Disks[0].Mode = v1.DiskCopy
		f.Apply(w)
	}
	for _, name := range names {
		f.AwaitWorkload(name, soon, "it waits for the half that is missing", func(v v1.View) bool {
			return slices.ContainsFunc(v.Progress, func(p v1.Progress) bool { return p.Done == size/2 })
		})
	}

	_, fast := randomImage(t, 1<<20)
	other := raw(f, "other", fast.URL, "")
	other.VM.Disks[0].Mode = v1.DiskCopy
	f.Apply(other)
	f.AwaitPhase("other", long, v1.PhaseRunning)
	for _, name := range names {
		require.Equal(t, v1.PhaseDeploying, f.Workload(name).Status.Phase, name)
		require.Empty(t, domainsOf(t, f, name))
	}
	require.Equal(t, 1, slow.Served().Requests, "one asks for all")

	slow.Set(harness.Trouble{})
	for _, name := range names {
		f.AwaitPhase(name, long, v1.PhaseRunning)
	}
	require.Equal(t, harness.Served{Requests: 1, Bytes: size}, slow.Served())
	for _, name := range append(names, "other") {
		remove(t, f, name)
	}
}
