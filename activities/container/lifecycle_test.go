package container_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	dc "github.com/docker/docker/api/types/container"
	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/container"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestDeployStopStartRemove(t *testing.T) {
	h := newHost(t)
	spec := sleeper()
	spec.Labels = map[string]string{"team": "blue"}
	spec.Volumes = []v1.Mount{{Name: "data", Target: "/data"}}
	in := request(spec, 1, 10)

	first := h.deploy(in)
	require.NotEmpty(t, first.RuntimeID)
	require.WithinDuration(t, time.Now(), first.StartedAt, time.Minute)
	require.NotEmpty(t, first.Addresses)
	i := h.inspect(first.RuntimeID)
	require.Equal(t, "/berth."+h.fleet+".h1.web", i.Name)
	require.Equal(t, dc.RestartPolicyDisabled, i.HostConfig.RestartPolicy.Name)
	require.Subset(t, i.Config.Labels, map[string]string{
		"team": "blue", container.LabelHost: "h1", container.LabelWorkload: "web",
		container.LabelGeneration: "1", container.LabelFence: "10", container.LabelAttempt: "0",
	})
	require.Equal(t, contract.RunRunning, h.observe("web").State)

	require.Equal(t, []string{"data"}, h.must(contract.StepStart, in).Made, "a retry of the step says what the action has made")
	in.Since = 9
	require.Equal(t, []string{"data"}, h.must(contract.StepStart, verb(in, v1.VerbDeploy, 11)).Made, "so does the next action, if the first failed")
	in.Since = 10
	require.Empty(t, h.must(contract.StepStart, verb(in, v1.VerbDeploy, 11)).Made)
	again := h.deploy(verb(in, v1.VerbDeploy, 11))
	require.Equal(t, first.RuntimeID, again.RuntimeID, "the same generation is kept")
	require.Equal(t, first.StartedAt, again.StartedAt)
	require.Contains(t, again.Found, "kept")

	h.must(contract.StepStop, verb(in, v1.VerbStop, 12))
	o := h.observe("web")
	require.Equal(t, contract.RunExited, o.State)
	require.Equal(t, v1.ReasonExited, o.Exit.Outcome)
	require.Zero(t, o.Exit.Code)

	started := h.deploy(verb(in, v1.VerbStart, 13))
	require.Equal(t, first.RuntimeID, started.RuntimeID, "a stopped container is started again, and keeps what it wrote")
	require.True(t, started.StartedAt.After(first.StartedAt))

	removed := h.must(contract.StepRemove, verb(in, v1.VerbRemove, 14))
	require.Empty(t, h.containers())
	require.Len(t, h.volumes(), 1)
	require.Equal(t, []string{"berth." + h.fleet + ".h1.web.data"}, removed.Kept, "named volumes stay, and are said to stay")
	require.Equal(t, contract.RunAbsent, h.observe("web").State)
	again = h.must(contract.StepRemove, verb(in, v1.VerbRemove, 14))
	require.Equal(t, removed.Kept, again.Kept, "a repeat says the same")

	_, err := h.do(contract.StepStart, in)
	require.NotNil(t, err)
	require.Equal(t, v1.ReasonStaleFence, err.Reason)
	require.Empty(t, h.containers())
}

func TestNewGenerationReplaces(t *testing.T) {
	h := newHost(t)
	spec := sleeper()
	spec.Volumes = []v1.Mount{{Name: "data", Target: "/data"}}
	old := h.deploy(request(spec, 1, 10))
	volumes := h.volumes()
	require.Len(t, volumes, 1)

	next := *spec
	next.Env = map[string]string{"COLOUR": "green"}
	in := request(&next, 2, 11)
	fresh := h.deploy(in)
	require.NotEqual(t, old.RuntimeID, fresh.RuntimeID)
	require.Contains(t, fresh.Found, "replaced")
	require.Len(t, h.containers(), 1)
	require.Contains(t, h.inspect(fresh.RuntimeID).Config.Env, "COLOUR=green")
	require.Equal(t, volumes[0].CreatedAt, h.volumes()[0].CreatedAt, "a named volume is kept")
}

// A workload that was removed by force and made anew counts its generations from one again.
func TestSameGenerationOfAnotherSpecReplaces(t *testing.T) {
	h := newHost(t)
	old := h.deploy(request(sleeper(), 1, 10))
	other := sleeper()
	other.Hostname = "other"
	fresh := h.deploy(request(other, 1, 11))
	require.NotEqual(t, old.RuntimeID, fresh.RuntimeID)
	require.Len(t, h.containers(), 1)
}

func TestRestartHappensOnceForAFence(t *testing.T) {
	h := newHost(t)
	in := request(sleeper(), 1, 10)
	first := h.deploy(in)
	restart := verb(in, v1.VerbRestart, 11)
	second := h.must(contract.StepStart, restart)
	require.Equal(t, first.RuntimeID, second.RuntimeID)
	require.True(t, second.StartedAt.After(first.StartedAt))
	retried := h.must(contract.StepStart, restart)
	require.Equal(t, second.StartedAt, retried.StartedAt, "a retry of the step does not restart again")
	third := h.must(contract.StepStart, verb(in, v1.VerbRestart, 12))
	require.True(t, third.StartedAt.After(second.StartedAt))
}

func TestPortConflictLeavesNothingAndHeals(t *testing.T) {
	h := newHost(t)
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	port := taken.Addr().(*net.TCPAddr).Port
	spec := sleeper()
	spec.Ports = []v1.Port{{Container: 80, Host: port, HostIP: "127.0.0.1"}}
	in := request(spec, 1, 10)

	_, failure := h.do(contract.StepStart, in)
	require.NotNil(t, failure)
	require.Equal(t, v1.ReasonPortConflict, failure.Reason)
	require.False(t, failure.Permanent)
	require.NotEmpty(t, failure.Advice)
	require.Empty(t, h.containers())

	require.NoError(t, taken.Close())
	out := h.must(contract.StepStart, in)
	require.Equal(t, []string{"127.0.0.1:" + strconv.Itoa(port) + ":80/tcp"}, out.Ports)
}

func TestForeignContainerWithTheNameIsLeftAlone(t *testing.T) {
	h := newHost(t)
	foreign, err := h.cl.ContainerCreate(t.Context(), &dc.Config{Image: busybox, Cmd: []string{"/bin/sh"}}, nil, nil, nil, "berth."+h.fleet+".h1.web")
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.cl.ContainerRemove(context.Background(), foreign.ID, dc.RemoveOptions{Force: true}) })
	_, failure := h.do(contract.StepStart, request(sleeper(), 1, 10))
	require.NotNil(t, failure)
	require.Equal(t, v1.ReasonRuntimeError, failure.Reason)
	require.Contains(t, failure.Message, "has the name")
	h.inspect(foreign.ID)
}

func TestRemovedBehindOurBack(t *testing.T) {
	h := newHost(t)
	in := request(sleeper(), 1, 10)
	first := h.deploy(in)
	require.NoError(t, h.cl.ContainerRemove(t.Context(), first.RuntimeID, dc.RemoveOptions{Force: true}))
	require.Equal(t, contract.RunAbsent, h.observe("web").State)

	_, failure := h.as(restarting{h.rt}, contract.StepStart, in)
	require.NotNil(t, failure)
	require.Equal(t, v1.ReasonNotFound, failure.Reason)

	second := h.must(contract.StepStart, verb(in, v1.VerbDeploy, 11))
	require.NotEqual(t, first.RuntimeID, second.RuntimeID)
	require.Equal(t, contract.RunRunning, h.observe("web").State)
}

// restarting runs Restart as if it were the step Start.
type restarting struct{ *container.Runtime }

func (r restarting) Steps() map[contract.Step]step.Func {
	return map[contract.Step]step.Func{contract.StepStart: func(ctx context.Context, c *step.Call) (contract.StepOut, error) {
		return contract.StepOut{}, r.Restart(ctx, c)
	}}
}

func TestRestartStartsTheSameContainer(t *testing.T) {
	h := newHost(t)
	in := request(sleeper(), 1, 10)
	first := h.deploy(in)
	require.NoError(t, h.cl.ContainerKill(t.Context(), first.RuntimeID, "KILL"))
	require.Eventually(t, func() bool { return h.observe("web").State == contract.RunExited }, 2*time.Minute, 20*time.Millisecond)
	require.Equal(t, 137, h.observe("web").Exit.Code)

	_, failure := h.as(restarting{h.rt}, contract.StepStart, in)
	require.Nil(t, failure)
	o := h.observe("web")
	require.Equal(t, contract.RunRunning, o.State)
	require.True(t, o.StartedAt.After(first.StartedAt))
	require.Len(t, h.containers(), 1)
}

// Whether the step still sees a service that ends at once must not change what becomes of it.
func TestAServiceThatEndsAtOnceHasBeenStarted(t *testing.T) {
	h := newHost(t)
	for fence := range int64(5) {
		in := request(shell("exit 4"), fence+1, 10+fence)
		out := h.must(contract.StepStart, in)
		require.NotEmpty(t, out.RuntimeID)
		require.Nil(t, out.Exit)
		require.Eventually(t, func() bool { return h.observe("web").State == contract.RunExited }, 2*time.Minute, 20*time.Millisecond)
	}
}

func TestWorkloadsDoNotMix(t *testing.T) {
	h := newHost(t)
	var wg sync.WaitGroup
	for n := range 2 {
		wg.Go(func() {
			in := request(sleeper(), 1, 10)
			in.Ref.Workload = fmt.Sprintf("web%d", n)
			_, err := h.do(contract.StepStart, in)
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Len(t, h.containers(), 2)
	in := request(sleeper(), 1, 11)
	in.Ref.Workload = "web0"
	h.must(contract.StepRemove, in)
	require.Len(t, h.containers(), 1)
	require.Equal(t, contract.RunRunning, h.observe("web1").State)
}

func TestWatchTellsOfADeath(t *testing.T) {
	h := newHost(t)
	ctx, cancel := context.WithCancel(t.Context())
	changed, over := make(chan string, 64), make(chan error, 1)
	go func() { over <- h.rt.Watch(ctx, func(workload string) { changed <- workload }) }()
	require.Empty(t, <-changed, "first comes: look at all")

	out := h.deploy(request(sleeper(), 1, 10))
	require.Equal(t, "web", <-changed)
	require.NoError(t, h.cl.ContainerKill(t.Context(), out.RuntimeID, "KILL"))
	require.Eventually(t, func() bool {
		select {
		case name := <-changed:
			return name == "web" && h.observe("web").State == contract.RunExited
		default:
			return false
		}
	}, 2*time.Minute, 20*time.Millisecond)
	cancel()
	require.ErrorIs(t, <-over, context.Canceled)
}
