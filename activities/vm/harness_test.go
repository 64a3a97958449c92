package vm_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"golang.org/x/sys/unix"

	"github.com/berth-dev/berth/activities/image"
	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	"github.com/berth-dev/berth/activities/vm"
	"github.com/berth-dev/berth/activities/vm/libvirt"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	testFleet    = "berthtest"
	realURI      = libvirt.DefaultURI
	syntheticURI = "test:///default"
)

// host is one host with real records, image cache and libvirt. Its names are its own.
type host struct {
	t       *testing.T
	name    string
	dataDir string
	driver  *libvirt.Driver
	store   *record.Store
	runner  *step.Runner
	rt      *vm.Runtime
	fence   int64
	// another is another runtime over the same, as of an agent that has just started.
	another func() *vm.Runtime
}

// newHost makes a host over a hypervisor. All that it leaves is removed when the test ends.
func newHost(t *testing.T, uri string) *host {
	t.Helper()
	// Not below t.TempDir: QEMU runs as another user, which has to get there.
	dataDir, err := os.MkdirTemp("/var/lib", "berth-test-vm-") //nolint:usetesting // see above
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dataDir, 0o711))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dataDir)) })

	h := &host{t: t, name: "h" + strings.ToLower(filepath.Base(dataDir)[len("berth-test-vm-"):]), dataDir: dataDir, fence: 100}
	h.driver = libvirt.New(libvirt.Config{URI: uri})
	t.Cleanup(h.driver.Close)
	cache, err := image.Open(filepath.Join(dataDir, "images"), image.Options{AllowedPathPrefixes: []string{dataDir}})
	require.NoError(t, err)
	t.Cleanup(cache.Close)
	cfg := vm.Config{Fleet: testFleet, Host: h.name, DataDir: dataDir, AllowPaths: []string{dataDir}}
	if uri == syntheticURI {
		cfg.DomainType = "test"
	}
	h.another = func() *vm.Runtime { return vm.New(cfg, h.driver, cache) }
	h.rt = h.another()
	h.reopen()
	t.Cleanup(func() { h.stopRunner(); h.destroyAll() })
	return h
}

// reopen is a restart of the agent: the records are read again, the runner is new.
func (h *host) reopen() {
	h.t.Helper()
	if h.store != nil {
		h.stopRunner()
	}
	store, err := record.Open(h.dataDir, testFleet, h.name)
	require.NoError(h.t, err)
	h.store, h.runner = store, step.NewRunner(store, slog.New(slog.DiscardHandler))
}

func (h *host) stopRunner() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	h.runner.Stop(ctx)
	require.NoError(h.t, h.store.Close())
}

// destroyAll removes the domains that a failed test left.
func (h *host) destroyAll() {
	for _, r := range h.store.List() {
		name := h.domain(r.Workload)
		_ = h.driver.Destroy(context.Background(), name)
		_ = h.driver.Undefine(context.Background(), name, true)
	}
}

func (h *host) domain(workload string) string {
	return "berth." + testFleet + "." + h.name + "." + workload
}

func (h *host) dir(workload string) string { return filepath.Join(h.dataDir, "workloads", workload) }

// action is one action on a workload: steps under one fence.
type action struct {
	h     *host
	spec  v1.Workload
	ref   contract.Ref
	since int64
}

// begin begins an action with the next fence.
func (h *host) begin(w v1.Workload, generation int64, verb v1.Verb) *action {
	h.fence++
	return &action{h: h, spec: w, ref: contract.Ref{
		Workload: w.Metadata.Name, Kind: v1.KindVM, Generation: generation, Fence: h.fence, Verb: verb,
	}}
}

// run runs one step as the agent does: as an activity, by the runner.
func (a *action) run(s contract.Step, last bool) (contract.StepOut, error) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(5 * time.Minute)
	name := contract.ActivityName(v1.KindVM, s)
	env.RegisterActivityWithOptions(a.h.runner.Activity(a.h.rt, s), activity.RegisterOptions{Name: name})
	value, err := env.ExecuteActivity(name, contract.StepIn{Ref: a.ref, Spec: a.spec, Last: last, Since: a.since})
	var out contract.StepOut
	if err == nil {
		require.NoError(a.h.t, value.Get(&out))
	}
	return out, err
}

// must runs steps that have to succeed, the last of which ends the action, and returns its result.
func (a *action) must(steps ...contract.Step) (out contract.StepOut) {
	a.h.t.Helper()
	for i, s := range steps {
		var err error
		out, err = a.run(s, i == len(steps)-1)
		require.NoError(a.h.t, err, "step %s", s)
	}
	return out
}

// step runs one step that has to succeed and is not the last.
func (a *action) step(s contract.Step) contract.StepOut {
	a.h.t.Helper()
	out, err := a.run(s, false)
	require.NoError(a.h.t, err, "step %s", s)
	return out
}

// deploySteps are the steps of a deploy.
var deploySteps = []contract.Step{contract.StepPrepare, contract.StepCreate, contract.StepStart, contract.StepAwaitReady}

func (h *host) observe(workload string) contract.Observation {
	h.t.Helper()
	rec, err := h.store.Get(workload)
	require.NoError(h.t, err)
	o, err := h.rt.Observe(context.Background(), rec)
	require.NoError(h.t, err)
	return o
}

// guestImage is the smallest guest that boots, below the host's data directory, where the host allows it. It is built
// once and kept in the user's cache.
func (h *host) guestImage() string {
	h.t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(h.t, err)
	dir := filepath.Join(cache, "berth")
	require.NoError(h.t, os.MkdirAll(dir, 0o755))
	lock, err := os.OpenFile(filepath.Join(dir, "guest.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	require.NoError(h.t, err)
	defer func() { require.NoError(h.t, lock.Close()) }()
	require.NoError(h.t, unix.Flock(int(lock.Fd()), unix.LOCK_EX))

	built := filepath.Join(dir, "guest.qcow2")
	if _, err := os.Stat(built); err != nil {
		out, err := exec.Command("bash", "../../deploy/images/guest.sh", built, dir).CombinedOutput()
		require.NoError(h.t, err, "%s", out)
	}
	data, err := os.ReadFile(built)
	require.NoError(h.t, err)
	path := filepath.Join(h.dataDir, "guest.qcow2")
	require.NoError(h.t, os.WriteFile(path, data, 0o644))
	return path
}
