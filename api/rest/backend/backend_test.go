package backend

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth"
	"github.com/berth-dev/berth/api/rest"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
	"github.com/berth-dev/berth/workers/control"
	"github.com/berth-dev/berth/workers/devserver"
	"github.com/berth-dev/berth/workers/temporal"
	"github.com/berth-dev/berth/workflows/contract"
)

// fleet is a backend on a Temporal server of its own, encrypted, with no worker and no host.
func fleet(t *testing.T) (*Backend, *temporal.Conn) {
	t.Helper()
	settings, err := devserver.ParseSettings(berth.TemporalDev)
	require.NoError(t, err)
	binary, err := devserver.FindBinary(filepath.Join("..", "..", "..", "bin", "temporal"))
	require.NoError(t, err, "the Temporal CLI is built by `make tools`")
	logger := slog.New(slog.DiscardHandler)
	server, err := devserver.Start(t.Context(), devserver.Config{
		Settings: settings, Binary: binary, DataDir: harness.MemoryDir(t), IP: "127.0.0.1", Port: freePort(t), UIPort: freePort(t), Logger: logger,
	})
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	key, err := temporal.NewKey("test")
	require.NoError(t, err)
	conn := dial(t, server, key)
	return backend(conn, 1500*time.Millisecond), conn
}

// backend is one that waits so long for a worker's answer.
func backend(conn *temporal.Conn, answerWithin time.Duration) *Backend {
	return New(Config{
		Client: conn.Client, Data: conn.Data, Namespace: conn.Namespace, Timings: contract.DefaultTimings(),
		AnswerWithin: answerWithin, Logger: slog.New(slog.DiscardHandler),
	})
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func work(t *testing.T, conn *temporal.Conn) {
	t.Helper()
	w := control.New(conn.Client, conn.Data, slog.New(slog.DiscardHandler))
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
}

func workload(name string) *v1.Workload {
	w := &v1.Workload{
		APIVersion: v1.APIVersion, Kind: v1.KindContainer,
		Metadata:  v1.Metadata{Name: name, Labels: map[string]string{"app": "shop"}},
		Container: &v1.ContainerSpec{Image: "none", Env: map[string]string{"PASSWORD": "hunter2"}},
	}
	w.Default()
	return w
}

func reasonOf(t *testing.T, err error, want v1.Reason) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, contract.ReasonOf(err), "%v", err)
}

// The whole life of a workload through the API, beginning while no worker runs.
func TestWorkloadLife(t *testing.T) {
	b, conn := fleet(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()

	// Without a worker a new workload is recorded all the same; anything that needs an answer is told so.
	first, err := b.Apply(ctx, workload("web"), rest.Request{ID: "first"})
	require.NoError(t, err)
	require.True(t, first.Started)
	require.Equal(t, "created", first.Changed)
	_, err = b.Apply(ctx, workload("web"), rest.Request{ID: "second"})
	reasonOf(t, err, v1.ReasonUnavailable)
	require.ErrorContains(t, err, "no control worker")
	again, err := b.Apply(ctx, workload("web"), rest.Request{ID: "first"})
	require.NoError(t, err, "a repeat with the same key is the same request")
	require.True(t, again.Started)
	_, err = b.Do(ctx, "web", v1.VerbStop, rest.Request{ID: "s"})
	reasonOf(t, err, v1.ReasonUnavailable)

	// Reading needs none.
	view, err := b.Workload(ctx, "web", true)
	require.NoError(t, err)
	require.Equal(t, v1.PhasePending, view.Status.Phase)
	require.Equal(t, map[string]string{"app": "shop"}, view.Metadata.Labels)
	require.Nil(t, view.Spec)
	require.NotEmpty(t, view.Notes)
	requireListed(t, b, rest.WorkloadQuery{Kind: v1.KindContainer, Phase: v1.PhasePending, Labels: v1.LabelSelector{"app": "shop"}}, "web")
	requireListed(t, b, rest.WorkloadQuery{Kind: v1.KindVM})
	requireListed(t, b, rest.WorkloadQuery{Labels: v1.LabelSelector{"app": "other"}})
	require.False(t, check(b, "worker").OK)
	require.True(t, check(b, "temporal").OK)

	work(t, conn)
	b = backend(conn, time.Minute)
	require.Eventually(t, func() bool {
		view, err = b.Workload(ctx, "web", true)
		return err == nil && view.Spec != nil
	}, 2*time.Minute, 50*time.Millisecond)
	require.Equal(t, "hunter2", view.Spec.(*v1.ContainerSpec).Env["PASSWORD"])
	hidden, err := b.Workload(ctx, "web", false)
	require.NoError(t, err)
	require.NotContains(t, hidden.Spec.(*v1.ContainerSpec).Env["PASSWORD"], "hunter2")
	require.True(t, check(b, "worker").OK)

	repeat, err := b.Apply(ctx, workload("web"), rest.Request{ID: "first"})
	require.NoError(t, err)
	require.Equal(t, "created", repeat.Changed, "the run applied its input under the same id")
	same, err := b.Apply(ctx, workload("web"), rest.Request{ID: "third"})
	require.NoError(t, err)
	require.Equal(t, "unchanged", same.Changed)

	change(ctx, t, b)

	_, err = b.Do(ctx, "web", v1.VerbRemove, rest.Request{ID: "r"})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := b.Workload(ctx, "web", true)
		return contract.ReasonOf(err) == v1.ReasonNotFound
	}, 2*time.Minute, 50*time.Millisecond)
	_, err = b.Do(ctx, "web", v1.VerbStart, rest.Request{ID: "late"})
	reasonOf(t, err, v1.ReasonNotFound)
	_, err = b.Apply(ctx, workload("web"), rest.Request{ID: "m", MustExist: true})
	reasonOf(t, err, v1.ReasonNotFound)
	_, err = b.Logs(ctx, "web", 10)
	reasonOf(t, err, v1.ReasonNotFound)
	_, err = b.Host(ctx, "h1")
	reasonOf(t, err, v1.ReasonNotFound)
}

// change updates the workload in all ways that If-Match and dryRun know.
func change(ctx context.Context, t *testing.T, b *Backend) {
	t.Helper()
	next := workload("web")
	next.Container.Image = "other"
	next.Container.Env["EXTRA"] = "1"
	would, err := b.DryRun(ctx, next, rest.Request{})
	require.NoError(t, err)
	require.Equal(t, v1.Accepted{
		Name: "web", Generation: 2, Changed: "updated", DryRun: true, ChangedFields: []string{"spec.env.EXTRA", "spec.image"},
	}, would)
	unchanged, err := b.DryRun(ctx, workload("web"), rest.Request{})
	require.NoError(t, err)
	require.Equal(t, "unchanged", unchanged.Changed)
	created, err := b.DryRun(ctx, workload("db"), rest.Request{})
	require.NoError(t, err)
	require.Equal(t, "created", created.Changed)

	stale, current := int64(7), int64(1)
	_, err = b.DryRun(ctx, next, rest.Request{IfGeneration: &stale})
	reasonOf(t, err, v1.ReasonGenerationMismatch)
	_, err = b.Apply(ctx, next, rest.Request{ID: "stale", IfGeneration: &stale})
	reasonOf(t, err, v1.ReasonGenerationMismatch)
	updated, err := b.Apply(ctx, next, rest.Request{ID: "next", IfGeneration: &current})
	require.NoError(t, err)
	require.Equal(t, int64(2), updated.Generation)

	vm := &v1.Workload{
		APIVersion: v1.APIVersion, Kind: v1.KindVM, Metadata: v1.Metadata{Name: "web"},
		VM: &v1.VMSpec{VCPUs: 1, Memory: 64 << 20, Disks: []v1.Disk{{Name: "root", Size: 1 << 30}}},
	}
	vm.Default()
	_, err = b.Apply(ctx, vm, rest.Request{ID: "vm"})
	reasonOf(t, err, v1.ReasonImmutable)
	_, err = b.DryRun(ctx, vm, rest.Request{})
	var fields v1.FieldErrors
	require.ErrorAs(t, err, &fields)
	_, err = b.Workloads(ctx, rest.WorkloadQuery{Page: rest.Page{Size: 1, Token: "!"}})
	require.ErrorAs(t, err, &fields)
}

func requireListed(t *testing.T, b *Backend, q rest.WorkloadQuery, names ...string) {
	t.Helper()
	q.Size = 10
	var got []string
	require.Eventually(t, func() bool {
		list, err := b.Workloads(t.Context(), q)
		require.NoError(t, err)
		got = nil
		for _, item := range list.Items {
			got = append(got, item.Metadata.Name)
		}
		return len(got) == len(names)
	}, 2*time.Minute, 20*time.Millisecond)
	require.Equal(t, names, got)
}

func check(b *Backend, name string) v1.Check {
	for _, c := range b.Checks(context.Background()) {
		if c.Name == name {
			return c
		}
	}
	return v1.Check{}
}
