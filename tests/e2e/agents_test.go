package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// TestAnAgentOfAnotherContract joins a fleet that speaks another contract: it is there, and gets no work.
func TestAnAgentOfAnotherContract(t *testing.T) {
	t.Parallel()
	f := harness.NewFleet(t, harness.Failpoints(), harness.Env("BERTH_CONTRACT=999"))
	f.StartServer(pace...)
	agent := f.StartAgent(hostName, pace...)
	h := f.AwaitHost(hostName, soon, v1.HostOnline)
	require.True(t, h.Cordoned)
	require.Contains(t, h.Message, "contract 999")
	_, out := f.CLI("hosts")
	require.Contains(t, out, "cordoned")
	require.Contains(t, out, "the agent speaks contract 999")
	f.Apply(container(t, f, "web"))
	v := f.AwaitWorkload("web", soon, "it waits for another host", func(v v1.View) bool { return v.Status.Reason == v1.ReasonNoMatchingHost })
	require.Contains(t, v.Status.Message, "contract 999")
	require.Empty(t, containersOf(t, f, "web"))

	// Upgraded, it takes work by itself.
	agent.Stop()
	agent.SetEnv()
	agent.Start()
	f.AwaitPhase("web", soon, v1.PhaseRunning)
	require.False(t, f.AwaitHost(hostName, soon, v1.HostOnline).Cordoned)
	remove(t, f, "web")
}

// TestTheSameInstanceTakesOverAtOnce kills an agent in the midst of a step: the next process with its data directory does not
// wait for the lease of the first to end, and the step is done again at its turn.
func TestTheSameInstanceTakesOverAtOnce(t *testing.T) {
	t.Parallel()
	slow := []string{"--lease", "10m", "--beat", "1s", "--activity-heartbeat", "6s"}
	f := harness.NewFleet(t, harness.Failpoints())
	f.StartServer(slow...)
	agent := f.StartAgent(hostName, slow...)
	before := f.AwaitHost(hostName, soon, v1.HostOnline)
	const place = "container.start.before@web"
	f.ArmKill(place)
	f.Apply(container(t, f, "web"))
	f.AwaitHit(place, soon)
	agent.Await(soon)
	f.Release(place)
	agent.Start()
	harness.Eventually(t, func() bool {
		h, err := f.Client().Host(t.Context(), hostName)
		return err == nil && h.State == v1.HostOnline && h.LeaseNo > before.LeaseNo
	}, soon, poll, "it does not wait for the end of its lease")
	require.Equal(t, before.Instance, f.AwaitHost(hostName, soon, v1.HostOnline).Instance)
	f.AwaitPhase("web", soon, v1.PhaseRunning)
	require.Len(t, containersOf(t, f, "web"), 1)
	remove(t, f, "web")
}

// TestAnAgentThatIsStopped is told to stop while it starts a workload, and another runs. It hands over what it can't finish,
// says goodbye, and nothing that runs there moves.
func TestAnAgentThatIsStopped(t *testing.T) {
	t.Parallel()
	f := harness.NewFleet(t, harness.Failpoints())
	f.StartServer(lossPace...)
	first := f.StartAgent("h1", lossPace...)
	f.AwaitHost("h1", soon, v1.HostOnline)
	f.Apply(container(t, f, "runs", moveSoon))
	f.AwaitWorkload("runs", soon, "runs", runsOn("h1"))
	kept := idOf(t, "berth."+f.ID+".h1.runs")
	f.StartAgent("h2", lossPace...)
	f.AwaitHost("h2", soon, v1.HostOnline)
	const place = "container.Start.begin@open"
	f.Arm(place)
	f.Apply(container(t, f, "open", "placement: {hosts: [h1]}"))
	f.AwaitHit(place, soon)

	require.NoError(t, syscall.Kill(first.PID(), syscall.SIGTERM))
	f.AwaitHost("h1", soon, v1.HostLeft)
	f.Release(place)
	require.Zero(t, first.Await(soon))
	v := f.AwaitWorkload("open", soon, "the start waits for its host", func(v v1.View) bool { return v.Status.Host == "h1" && v.Status.Action != nil })
	require.Zero(t, v.Status.Tries, "a step that is handed over has not failed")

	// Nothing comes of it in more than lease, grace and moveAfter together.
	until := time.Now().Add(10 * time.Second)
	harness.Eventually(t, func() bool { return time.Now().After(until) }, soon, poll)
	require.Equal(t, v1.HostLeft, f.AwaitHost("h1", soon, v1.HostLeft).State)
	require.True(t, runsOn("h1")(f.Workload("runs")), "it is not lost, and does not move")
	require.Empty(t, on(t, f, "h2", "runs"))
	require.Equal(t, kept, idOf(t, "berth."+f.ID+".h1.runs"))

	first.Start()
	f.AwaitWorkload("open", soon, "the start is finished", runsOn("h1"))
	require.Equal(t, kept, idOf(t, "berth."+f.ID+".h1.runs"))
	awaitAgreement(t, f, "h1", runningHere(t, f))
	awaitAgreement(t, f, "h2", runningHere(t, f))
}

func TestAnAgentStartsOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := harness.OpenDir(t, "small")
	out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=1m", "berth-test", dir).CombinedOutput()
	require.NoErrorf(t, err, "%s", out)
	t.Cleanup(func() { require.NoError(t, exec.CommandContext(context.Background(), "umount", "--lazy", dir).Run()) })
	f := fleet(t, "--data-dir", dir)
	f.Apply(container(t, f, "web"))
	f.AwaitPhase("web", soon, v1.PhaseRunning)
	before := f.AwaitHost(hostName, soon, v1.HostOnline)
	f.Agents[0].Kill()
	full, err := os.Create(filepath.Join(dir, "full"))
	require.NoError(t, err)
	_, err = full.Write(make([]byte, 1<<20))
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, full.Close())

	f.Agents[0].Start()
	harness.Eventually(t, func() bool {
		h, err := f.Client().Host(t.Context(), hostName)
		return err == nil && h.State == v1.HostOnline && h.LeaseNo > before.LeaseNo
	}, soon, poll, "what runs, runs on: the host is not lost for want of room")
	require.NoError(t, os.Remove(full.Name()))
	remove(t, f, "web")
}
