//go:build bench

package bench_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// rounds is how often each way is measured.
	rounds = 20
	// lookEvery is how often a deploy is looked at. Each look costs Temporal a millisecond or two of CPU: looking more often
	// measures the looking.
	lookEvery = 10 * time.Millisecond
)

// bench is a fleet with one host, and what is measured on it.
type bench struct {
	*harness.Fleet
	t        *testing.T
	temporal client.Client
}

func newBench(t *testing.T, agentArgs ...string) *bench {
	t.Helper()
	f := harness.NewFleet(t, harness.OnDisk())
	f.StartServer()
	f.StartAgent("bench", agentArgs...)
	f.AwaitHost("bench", time.Minute, v1.HostOnline)
	return &bench{Fleet: f, t: t, temporal: f.Temporal.Client()}
}

func (b *bench) container(name, image string) *v1.Workload {
	return b.Parse(fmt.Sprintf("apiVersion: berth/v1\nkind: Container\nmetadata: {name: %s}\nspec: {image: %q, pull: never}\n", name, image))
}

// vm is a virtual machine that is not waited for when it is stopped.
func (b *bench) vm(name, image string) *v1.Workload {
	return b.Parse(fmt.Sprintf("apiVersion: berth/v1\nkind: VM\nmetadata: {name: %s}\n"+
		"spec: {vcpus: 1, memory: 128Mi, stopGracePeriod: 1s, disks: [{name: root, image: {path: %q}}]}\n", name, image))
}

// deploy puts a workload and returns how long it took until it was Running.
func (b *bench) deploy(w *v1.Workload) time.Duration {
	b.t.Helper()
	start := time.Now()
	b.Apply(w)
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for ; ; <-look.C {
		d, err := b.temporal.DescribeWorkflow(ctx, contract.WorkloadID(w.Metadata.Name), "")
		require.NoError(b.t, err)
		phase, _ := d.TypedSearchAttributes.GetKeyword(contract.AttrPhase)
		switch v1.Phase(phase) {
		case v1.PhaseRunning:
			return time.Since(start)
		case v1.PhaseFailed:
			b.t.Fatalf("%s failed: %+v", w.Metadata.Name, b.Workload(w.Metadata.Name).Status)
		}
	}
}

func (b *bench) remove(name string) {
	b.t.Helper()
	b.Do(name, v1.VerbRemove)
	b.AwaitGone(name, time.Minute)
}

// events counts the history events of a workload and of its first deploy.
func (b *bench) events(name string) (entity, action int) {
	b.t.Helper()
	status := b.Workload(name).Status
	count := func(id string) (n int) {
		it := b.temporal.GetWorkflowHistory(b.t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for it.HasNext() {
			_, err := it.Next()
			require.NoError(b.t, err)
			n++
		}
		return n
	}
	return count(contract.WorkloadID(name)), count(contract.ActionID(name, v1.VerbDeploy, status.Fence))
}

func TestContainer(t *testing.T) {
	b := newBench(t)
	image := harness.ContainerImage(t)
	bare := func(name string) time.Duration {
		start := time.Now()
		run(t, "docker", "create", "--name", name, "--label", "berth.fleet="+b.ID, image)
		run(t, "docker", "start", name)
		return time.Since(start)
	}
	warm := b.container("warm", image)
	b.deploy(warm)
	entity, action := b.events("warm")
	b.remove("warm")

	var ours, theirs []time.Duration
	before := b.requests()
	for i := range rounds {
		name := fmt.Sprintf("c%d", i)
		ours = append(ours, b.deploy(b.container(name, image)))
		b.remove(name)

		name = fmt.Sprintf("%s-bare-%d", b.ID, i)
		theirs = append(theirs, bare(name))
		run(t, "docker", "rm", "-f", name)
	}
	report(t, "container: PUT to Running", ours, "docker create + start", theirs)
	t.Logf("history events: %d of the workload, %d of the deploy", entity, action)
	t.Logf("Temporal requests per deploy and remove: %.0f", (b.requests()-before)/rounds)
}

func TestVM(t *testing.T) {
	image := harness.GuestImage(t)
	b := newBench(t, "--allow-path", filepath.Dir(image))
	dir := harness.OpenDir(t, "bare")
	base := filepath.Join(dir, "base.qcow2")
	run(t, "cp", image, base)
	run(t, "chmod", "0444", base)

	b.deploy(b.vm("warm", image))
	entity, action := b.events("warm")
	template := run(t, "virsh", "dumpxml", "--inactive", domain(t, b.ID, "warm"))
	b.remove("warm")

	// What is measured bare is the very domain that Berth defines, under another name and on another disk.
	bare := func(name string) time.Duration {
		disk := filepath.Join(dir, name+".qcow2")
		xml := filepath.Join(dir, name+".xml")
		require.NoError(t, os.WriteFile(xml, []byte(bareXML(template, b.ID, name, disk, base)), 0o600))
		start := time.Now()
		run(t, "qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", base, disk)
		run(t, "virsh", "define", xml)
		run(t, "virsh", "start", name)
		return time.Since(start)
	}
	var ours, theirs []time.Duration
	for i := range rounds {
		name := fmt.Sprintf("v%d", i)
		ours = append(ours, b.deploy(b.vm(name, image)))
		run(t, "virsh", "destroy", domain(t, b.ID, name)) // a guest that still boots ignores the power button
		b.remove(name)

		name = fmt.Sprintf("%s-bare-%d", b.ID, i)
		theirs = append(theirs, bare(name))
		run(t, "virsh", "destroy", name)
		run(t, "virsh", "undefine", name)
	}
	report(t, "vm: PUT to the domain running", ours, "overlay + define + start", theirs)
	t.Logf("history events: %d of the workload, %d of the deploy", entity, action)
}

func domain(t *testing.T, fleet, workload string) string {
	t.Helper()
	for _, d := range harness.Domains(t, fleet) {
		if strings.HasSuffix(d, "."+workload) {
			return d
		}
	}
	t.Fatalf("no domain of %s", workload)
	return ""
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	require.NoErrorf(t, err, "%s %v: %s", name, args, out)
	return string(out)
}

func report(t *testing.T, what string, ours []time.Duration, bare string, theirs []time.Duration) {
	t.Helper()
	a, b := median(ours), median(theirs)
	t.Logf("%-30s median %v (min %v, max %v) of %d", what, a, slices.Min(ours), slices.Max(ours), len(ours))
	t.Logf("%-30s median %v (min %v, max %v) of %d", bare, b, slices.Min(theirs), slices.Max(theirs), len(theirs))
	t.Logf("added at the median: %v; ratio %.2f", a-b, float64(a)/float64(b))
}

func median[T interface{ ~int64 | ~float64 }](values []T) T {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
