package e2e

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// A device that is wanted under one name and held under another is waited for, and given on as soon as it is free.
func TestADeviceIsWaitedForUnderAnyOfItsNames(t *testing.T) {
	t.Parallel()
	f := fleet(t, "--allow-device", "/dev/full")
	link := "/dev/berth-" + f.ID
	require.NoError(t, os.Symlink("/dev/full", link))
	t.Cleanup(func() { require.NoError(t, os.Remove(link)) })
	f.Apply(container(t, f, "holder", "devices: [{host: /dev/full}]"))
	f.AwaitPhase("holder", soon, v1.PhaseRunning)

	waiter := container(t, f, "waiter", "devices: [{host: "+link+"}]")
	const short = " is reserved by holder, as /dev/full"
	harness.Eventually(t, func() bool {
		would, err := f.Client().Put(t.Context(), waiter, true, client.Change{})
		return err == nil && would.Host == "" && len(would.Refusals) == 1 && would.Refusals[0] == hostName+": device "+link+short
	}, soon, poll, "a dry run sees it, once the host has told of the name")
	f.Apply(waiter)
	waits := f.AwaitWorkload("waiter", soon, "it waits in the queue", func(v v1.View) bool {
		return v.Status.Reason == v1.ReasonNoCapacity && v.Status.NextTry != nil && time.Until(*v.Status.NextTry) > time.Minute &&
			v.Status.Message == hostName+": device "+link+short
	})
	require.Empty(t, containersOf(t, f, "waiter"))
	remove(t, f, "holder")
	require.True(t, f.AwaitPhase("waiter", soon, v1.PhaseRunning).Status.StartedAt.Before(*waits.Status.NextTry), "it was woken")
	remove(t, f, "waiter")
}
