package container_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	dc "github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"github.com/berth-dev/berth/activities/container"
	"github.com/berth-dev/berth/activities/container/docker"
	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// busybox is an image with nothing but /bin/busybox, made once for all tests of this package.
var busybox = "berth-test-" + strings.ToLower(rand.Text()[:10]) + ":1"

func TestMain(m *testing.M) {
	cl, err := client.NewClientWithOpts(client.WithAPIVersionNegotiation())
	if err == nil {
		err = importBusybox(cl)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "these tests need a Docker engine and busybox-static:", err)
		os.Exit(1) //nolint:forbidigo // a TestMain is a main
	}
	code := m.Run()
	if _, err := cl.ImageRemove(context.Background(), busybox, image.RemoveOptions{Force: true}); err != nil {
		fmt.Fprintln(os.Stderr, "remove the tests' image:", err)
	}
	os.Exit(code) //nolint:forbidigo // a TestMain is a main
}

func importBusybox(cl *client.Client) error {
	program, err := os.ReadFile("/bin/busybox")
	if err != nil {
		return err
	}
	var tree bytes.Buffer
	w := tar.NewWriter(&tree)
	for _, h := range []tar.Header{
		{Name: "bin/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777},
		{Name: "bin/busybox", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(program))},
		{Name: "bin/sh", Typeflag: tar.TypeSymlink, Linkname: "busybox"},
	} {
		if err := w.WriteHeader(&h); err != nil {
			return err
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write(program); err != nil {
				return err
			}
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	out, err := cl.ImageImport(context.Background(), image.ImportSource{Source: &tree, SourceName: "-"}, busybox, image.ImportOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	_, err = io.Copy(io.Discard, out)
	return err
}

// host is an agent's side of one fleet of its own: the real records, the real runner, the real driver.
type host struct {
	t      *testing.T
	fleet  string
	cl     *client.Client
	rt     *container.Runtime
	store  *record.Store
	runner *step.Runner
	beats  sync.Map // workload → the last v1.Progress that was heartbeated
}

func newHost(t *testing.T, change ...func(*container.Config)) *host {
	t.Helper()
	return newHostAt(t, "", change...)
}

// newHostAt is newHost for the engine at an address.
func newHostAt(t *testing.T, address string, change ...func(*container.Config)) *host {
	t.Helper()
	cfg := container.Config{Fleet: "t" + strings.ToLower(rand.Text()[:10]), Host: "h1", DataDir: t.TempDir()}
	for _, c := range change {
		c(&cfg)
	}
	driver, err := docker.New(address)
	require.NoError(t, err)
	store, err := record.Open(cfg.DataDir, cfg.Fleet, cfg.Host)
	require.NoError(t, err)
	opts := []client.Opt{client.WithAPIVersionNegotiation()}
	if address != "" {
		opts = append(opts, client.WithHost(address))
	}
	cl, err := client.NewClientWithOpts(opts...)
	require.NoError(t, err)
	h := &host{
		t: t, fleet: cfg.Fleet, cl: cl, store: store, rt: container.New(cfg, driver),
		runner: step.NewRunner(store, slog.New(slog.DiscardHandler)),
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		h.runner.Stop(ctx)
		h.sweep(ctx)
		require.NoError(t, store.Close())
		require.NoError(t, driver.Close())
		require.NoError(t, cl.Close())
	})
	return h
}

// sweep removes what a test left behind.
func (h *host) sweep(ctx context.Context) {
	list, _ := h.cl.ContainerList(ctx, dc.ListOptions{All: true, Filters: h.label()})
	for _, c := range list {
		_ = h.cl.ContainerRemove(ctx, c.ID, dc.RemoveOptions{Force: true, RemoveVolumes: true})
	}
	volumes, _ := h.cl.VolumeList(ctx, volume.ListOptions{Filters: h.label()})
	for _, v := range volumes.Volumes {
		_ = h.cl.VolumeRemove(ctx, v.Name, true)
	}
}

func (h *host) label() filters.Args {
	return filters.NewArgs(filters.Arg("label", container.LabelFleet+"="+h.fleet))
}

// containers are all that the engine has of this fleet.
func (h *host) containers() []dc.Summary {
	list, err := h.cl.ContainerList(h.t.Context(), dc.ListOptions{All: true, Filters: h.label()})
	require.NoError(h.t, err)
	return list
}

func (h *host) volumes() []*volume.Volume {
	list, err := h.cl.VolumeList(h.t.Context(), volume.ListOptions{Filters: h.label()})
	require.NoError(h.t, err)
	return list.Volumes
}

func (h *host) inspect(id string) dc.InspectResponse {
	i, err := h.cl.ContainerInspect(h.t.Context(), id)
	require.NoError(h.t, err)
	return i
}

func (h *host) progress(workload string) v1.Progress {
	p, _ := h.beats.Load(workload)
	last, _ := p.(v1.Progress)
	return last
}

// do runs a step as an activity.
func (h *host) do(s contract.Step, in contract.StepIn) (contract.StepOut, *contract.Error) {
	return h.as(h.rt, s, in)
}

func (h *host) as(rt step.Runtime, s contract.Step, in contract.StepIn) (contract.StepOut, *contract.Error) {
	suite := testsuite.WorkflowTestSuite{}
	suite.SetLogger(quiet{})
	env := suite.NewTestActivityEnvironment()
	name := contract.ActivityName(rt.Kind(), s)
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		var p v1.Progress
		if details.Get(&p) == nil {
			h.beats.Store(in.Ref.Workload, p)
		}
	})
	env.RegisterActivityWithOptions(h.runner.Activity(rt, s), activity.RegisterOptions{Name: name})
	var out contract.StepOut
	value, err := env.ExecuteActivity(name, in)
	if err == nil {
		err = value.Get(&out)
	}
	return out, contract.FromActivityError(err)
}

func (h *host) must(s contract.Step, in contract.StepIn) contract.StepOut {
	h.t.Helper()
	out, err := h.do(s, in)
	require.Nil(h.t, err, "%s: %+v", s, err)
	return out
}

// deploy runs the steps of a deploy.
func (h *host) deploy(in contract.StepIn) contract.StepOut {
	h.t.Helper()
	h.must(contract.StepPrepare, in)
	out := h.must(contract.StepStart, in)
	h.must(contract.StepAwaitReady, in)
	return out
}

func (h *host) observe(workload string) contract.Observation {
	h.t.Helper()
	rec, err := h.store.Get(workload)
	require.NoError(h.t, err)
	o, err := h.rt.Observe(h.t.Context(), rec)
	require.NoError(h.t, err)
	return o
}

// said reports whether a workload wrote a line.
func (h *host) said(workload, line string) bool {
	rec, err := h.store.Get(workload)
	require.NoError(h.t, err)
	lines, err := h.rt.Logs(h.t.Context(), rec, 0)
	return err == nil && slices.Contains(lines, line)
}

// sleeper is a spec that runs until it is stopped, at once.
func sleeper() *v1.ContainerSpec {
	return shell(`trap 'exit 0' TERM; echo ready; while :; do busybox sleep 0.1; done`)
}

func shell(script string) *v1.ContainerSpec {
	return &v1.ContainerSpec{Image: busybox, Pull: v1.PullNever, Command: []string{"/bin/sh", "-c", script}}
}

func job(script string) *v1.ContainerSpec {
	s := shell(script)
	s.Type = v1.TypeJob
	return s
}

// request is a step's input for the workload "web", with a generation and fence.
func request(spec *v1.ContainerSpec, generation, fence int64) contract.StepIn {
	in := contract.StepIn{
		Ref:  contract.Ref{Workload: "web", Kind: v1.KindContainer, Generation: generation, Fence: fence, Verb: v1.VerbDeploy},
		Spec: v1.Workload{APIVersion: v1.APIVersion, Kind: v1.KindContainer, Metadata: v1.Metadata{Name: "web"}, Container: spec},
	}
	if spec.Type == v1.TypeJob {
		in.Ref.Attempt = 1
	}
	return in
}

func verb(in contract.StepIn, v v1.Verb, fence int64) contract.StepIn {
	in.Ref.Verb, in.Ref.Fence = v, fence
	return in
}

type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
