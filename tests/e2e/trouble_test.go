package e2e

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

func TestContainerTrouble(t *testing.T) {
	allowed := harness.OpenDir(t, "binds")
	f := fleet(t, "--allow-path", allowed, "--allow-device", "/dev/full", "--log-level", "debug")
	runAll(t, f, []subtest{
		{"a crash is restarted on the host and counted", crashRestarts},
		{"what is removed behind its back is made again", madeAgain},
		{"health is followed", healthFollowed},
		{"a deploy that never gets healthy fails", neverHealthy},
		{"want of memory is told as such", outOfMemory},
		{"a port is waited for", portConflict},
		{"a device is given to one at a time", deviceConflict},
		{"binds need the host's leave", func(t *testing.T, f *harness.Fleet) { binds(t, f, allowed) }},
		{"restart no", restartNo},
		{"restart on-failure has a maximum", restartOnFailure},
		{"an image that is nowhere fails for good", noImage},
		{"secrets stay out of logs and messages", secretsUnlogged},
	})
}

// untilFile is a script that goes on once a file is there.
func untilFile(name, then string) string {
	return "trap 'exit 0' TERM; while [ ! -e " + name + " ]; do sleep 0.1; done; " + then
}

func crashRestarts(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "crash", shell(untilFile("/tmp/crash", "rm /tmp/crash; exit 3"))))
	f.AwaitPhase("crash", soon, v1.PhaseRunning)
	first := inspect(t, f, "crash")
	for n := 1; n <= 2; n++ {
		docker(t, "exec", containerName(f, "crash"), "touch", "/tmp/crash")
		v := f.AwaitWorkload("crash", soon, "it was restarted", func(v v1.View) bool {
			return v.Status.Restarts == n && v.Status.Phase == v1.PhaseRunning
		})
		require.EqualValues(t, 1, v.Status.RunningGeneration)
		require.Zero(t, v.Status.Tries, "a local restart is no deploy")
	}
	require.Equal(t, first.ID, inspect(t, f, "crash").ID)
	remove(t, f, "crash")
}

func madeAgain(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "again", "volumes: [{name: data, target: /data}]"))
	v := f.AwaitPhase("again", soon, v1.PhaseRunning)
	require.Empty(t, v.Status.Conditions)
	first := inspect(t, f, "again")
	// Its volume goes too, unless it has been made again before.
	harness.Eventually(t, func() bool {
		docker(t, "rm", "-f", containerName(f, "again"))
		return exec.CommandContext(t.Context(), "docker", "volume", "rm", containerName(f, "again")+".data").Run() == nil
	}, soon, poll)
	harness.Eventually(t, func() bool { return len(containersOf(t, f, "again")) == 1 }, soon, poll)
	v = f.AwaitWorkload("again", soon, "it runs again, and says that its data is gone", func(v v1.View) bool {
		return v.Status.Phase == v1.PhaseRunning && v.Status.Settled && len(v.Status.Conditions) > 0
	})
	require.EqualValues(t, 1, v.Status.Generation)
	require.Equal(t, v1.ReasonNotFound, v.Status.Conditions[0].Reason)
	require.NotEqual(t, first.ID, inspect(t, f, "again").ID)

	// So does what goes while it is stopped.
	told := v.Status.Conditions[0].At
	awaitSettled(f, f.Do("again", v1.VerbStop))
	docker(t, "rm", containerName(f, "again"))
	docker(t, "volume", "rm", containerName(f, "again")+".data")
	awaitSettled(f, f.Do("again", v1.VerbStart))
	f.AwaitWorkload("again", soon, "it says so again", func(v v1.View) bool {
		return slices.ContainsFunc(v.Status.Conditions, func(c v1.Condition) bool { return c.Reason == v1.ReasonNotFound && c.At.After(told) })
	})
	purge(t, f, "again")
}

func healthFollowed(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "health", `healthCheck: {command: [sh, -c, "test ! -e /tmp/sick"], interval: 1s, retries: 2}`))
	f.AwaitPhase("health", soon, v1.PhaseRunning)
	docker(t, "exec", containerName(f, "health"), "touch", "/tmp/sick")
	v := f.AwaitPhase("health", soon, v1.PhaseDegraded)
	require.Equal(t, v1.ReasonUnhealthy, v.Status.Reason)
	require.Contains(t, v.Status.Message, "health check")
	docker(t, "exec", containerName(f, "health"), "rm", "/tmp/sick")
	v = f.AwaitPhase("health", soon, v1.PhaseRunning)
	require.Empty(t, v.Status.Reason)
	remove(t, f, "health")
}

func neverHealthy(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "sick",
		`healthCheck: {command: [sh, -c, "echo no heartbeat; exit 1"], interval: 1s, retries: 1, readyTimeout: 5m}`))
	v := f.AwaitPhase("sick", soon, v1.PhaseFailed)
	require.Equal(t, v1.ReasonUnhealthy, v.Status.Reason)
	require.Contains(t, v.Status.Message, "no heartbeat")
	require.NotEmpty(t, v.Status.Advice)
	remove(t, f, "sick")
	require.Empty(t, containersOf(t, f, "sick"))
}

func outOfMemory(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "oom", "resources: {memory: 16Mi, memorySwap: 16Mi}", "restart: {policy: no}",
		shell("sleep 1; x=aaaaaaaa; while :; do x=$x$x; done")))
	v := f.AwaitPhase("oom", soon, v1.PhaseFailed)
	require.Equal(t, v1.ReasonOutOfMemory, v.Status.Reason)
	remove(t, f, "oom")
}

func portConflict(t *testing.T, f *harness.Fleet) {
	line := "ports: [{container: 8080, host: " + strconv.Itoa(harness.FreePort(t)) + "}]"
	f.Apply(container(t, f, "port-one", line))
	f.AwaitPhase("port-one", soon, v1.PhaseRunning)
	f.Apply(container(t, f, "port-two", line))
	v := f.AwaitWorkload("port-two", soon, "it waits for the port", func(v v1.View) bool {
		return v.Status.Phase == v1.PhasePending && v.Status.Reason == v1.ReasonPortConflict
	})
	require.False(t, v.Status.Permanent)
	require.Empty(t, containersOf(t, f, "port-two"))
	f.Apply(container(t, f, "port-none"))
	f.AwaitPhase("port-none", soon, v1.PhaseRunning)
	f.AwaitPhase("port-two", soon, v1.PhasePending) // it may be asking, and has held nobody up
	remove(t, f, "port-none")
	remove(t, f, "port-one")
	f.AwaitPhase("port-two", soon, v1.PhaseRunning)
	remove(t, f, "port-two")
}

func deviceConflict(t *testing.T, f *harness.Fleet) {
	const line = "devices: [{host: /dev/full, container: /dev/given}]"
	given := func(name string) string {
		return docker(t, "exec", containerName(f, name), "sh", "-c", "ls -l /dev/given")
	}
	f.Apply(container(t, f, "device-one", line))
	f.AwaitPhase("device-one", soon, v1.PhaseRunning)
	require.Regexp(t, `^crw.*\b1, +7\b`, given("device-one"))
	f.Apply(container(t, f, "device-two", line))
	const taken = "device /dev/full is reserved by device-one"
	f.AwaitWorkload("device-two", soon, "it waits for the device", func(v v1.View) bool {
		return v.Status.Phase == v1.PhasePending && v.Status.Reason == v1.ReasonNoCapacity && strings.Contains(v.Status.Message, taken)
	})
	require.Empty(t, containersOf(t, f, "device-two"))
	awaitSettled(f, f.Do("device-one", v1.VerbStop))
	f.Apply(container(t, f, "device-two", line, "env: {AGAIN: \"1\"}"))
	f.AwaitWorkload("device-two", soon, "it was tried again: who is stopped keeps it", func(v v1.View) bool {
		return v.Status.Phase == v1.PhasePending && v.Status.Generation == 2 && v.Status.Reason == v1.ReasonNoCapacity &&
			strings.Contains(v.Status.Message, taken)
	})
	remove(t, f, "device-one")
	f.AwaitPhase("device-two", soon, v1.PhaseRunning)
	require.Regexp(t, `^crw.*\b1, +7\b`, given("device-two"))
	remove(t, f, "device-two")
}

func binds(t *testing.T, f *harness.Fleet, allowed string) {
	f.Apply(container(t, f, "bind-no", "volumes: [{bind: /etc, target: /x}]"))
	v := f.AwaitPhase("bind-no", soon, v1.PhaseFailed)
	require.Equal(t, v1.ReasonPolicyDenied, v.Status.Reason)
	require.True(t, v.Status.Permanent)
	require.Empty(t, containersOf(t, f, "bind-no"))
	remove(t, f, "bind-no")

	f.Apply(container(t, f, "bind-yes", "volumes: [{bind: "+allowed+", target: /x}]", shell("echo here >/x/mark; "+idle)))
	f.AwaitPhase("bind-yes", soon, v1.PhaseRunning)
	harness.Eventually(t, func() bool { return exists(filepath.Join(allowed, "mark")) }, soon, poll)
	remove(t, f, "bind-yes")
	require.FileExists(t, filepath.Join(allowed, "mark"), "what a user brought stays")
}

func restartNo(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "once-bad", "restart: {policy: no}", shell("sleep 1; echo the end >&2; exit 5")))
	v := f.AwaitPhase("once-bad", soon, v1.PhaseFailed)
	require.Equal(t, v1.ReasonExited, v.Status.Reason)
	require.Equal(t, 5, *v.Status.ExitCode)
	require.Contains(t, v.Status.Message, "the end")

	f.Apply(container(t, f, "once-good", "restart: {policy: no}", shell("sleep 1")))
	v = f.AwaitPhase("once-good", soon, v1.PhaseStopped)
	require.Zero(t, *v.Status.ExitCode)
	require.Zero(t, v.Status.Restarts)
	remove(t, f, "once-bad")
	remove(t, f, "once-good")
}

func restartOnFailure(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "thrice", "restart: {policy: on-failure, maxRetries: 2}", "volumes: [{name: d, target: /d}]",
		shell("echo >>/d/starts; sleep 0.5; exit 9")))
	v := f.AwaitPhase("thrice", soon, v1.PhaseFailed)
	require.Equal(t, 9, *v.Status.ExitCode)
	require.Equal(t, 2, v.Status.Restarts)
	require.False(t, inspect(t, f, "thrice").State.Running)
	starts := docker(t, "run", "--rm", "--network", "none", "--volumes-from", containerName(f, "thrice"), harness.ContainerImage(t),
		"grep", "-c", "", "/d/starts")
	require.Equal(t, "3\n", starts)
	remove(t, f, "thrice")
}

func noImage(t *testing.T, f *harness.Fleet) {
	w := container(t, f, "no-image")
	w.Container.Image = "berth-test-nowhere:" + f.ID
	f.Apply(w)
	v := f.AwaitPhase("no-image", soon, v1.PhaseFailed)
	require.Equal(t, v1.ReasonImageNotFound, v.Status.Reason)
	require.True(t, v.Status.Permanent)
	require.NotEmpty(t, v.Status.Advice)

	// The image comes, and a retry finds it.
	docker(t, "tag", harness.ContainerImage(t), w.Container.Image)
	t.Cleanup(func() { docker(t, "rmi", w.Container.Image) })
	f.Do("no-image", v1.VerbRetry)
	f.AwaitPhase("no-image", soon, v1.PhaseRunning)
	remove(t, f, "no-image")
}

func secretsUnlogged(t *testing.T, f *harness.Fleet) {
	secret := "hunter2-" + f.ID
	env := "env: {PASSWORD: " + secret + "}"
	f.Apply(container(t, f, "secret-run", env))
	f.AwaitPhase("secret-run", soon, v1.PhaseRunning)
	f.Apply(container(t, f, "secret-end", env, "restart: {policy: no}", shell("echo the password is $PASSWORD; exit 1")))
	v := f.AwaitPhase("secret-end", soon, v1.PhaseFailed)
	require.Contains(t, v.Status.Message, "the password is")
	require.NotContains(t, v.Status.Message, secret)
	w := container(t, f, "secret-image", env)
	w.Container.Image = "berth-test-nowhere:secret"
	f.Apply(w)
	f.AwaitPhase("secret-image", soon, v1.PhaseFailed)
	code, out := f.CLI("list")
	require.Zero(t, code, out)
	for _, log := range []string{f.Servers[0].Log(), f.Agents[0].Log(), out} {
		require.NotEmpty(t, strings.TrimSpace(log))
		require.NotContains(t, log, secret)
	}
	for _, name := range []string{"secret-run", "secret-end", "secret-image"} {
		remove(t, f, name)
	}
}
