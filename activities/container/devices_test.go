package container_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/container"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// deviceHost is a host with two devices, and a link in an own directory that leads to the first.
func deviceHost(t *testing.T) (h *host, link string, with func(workload, device string, fence int64) contract.StepIn) {
	h = newHost(t, func(c *container.Config) { c.AllowDevices = []string{"/dev/null", "/dev/zero"} })
	link = filepath.Join(t.TempDir(), "by-name")
	require.NoError(t, os.Symlink("/dev/null", link))
	return h, link, func(workload, device string, fence int64) contract.StepIn {
		spec := sleeper()
		spec.Devices = []v1.Device{{Host: device, Container: "/dev/given"}}
		in := request(spec, 1, fence)
		in.Ref.Workload = workload
		return in
	}
}

// The ledger knows a device by the path in a spec; which paths lead to one device, only the host knows.
func TestADeviceHasOneUserWhateverItIsCalled(t *testing.T) {
	h, link, with := deviceHost(t)
	first, second := with("first", "/dev/null", 10), with("second", link, 20)
	h.deploy(first)
	for _, s := range []contract.Step{contract.StepPrepare, contract.StepStart} {
		_, failure := h.do(s, second)
		require.NotNil(t, failure, s)
		require.Equal(t, v1.ReasonNoCapacity, failure.Reason)
		require.False(t, failure.Permanent, "it ends when the other one is removed")
		require.Contains(t, failure.Message, link)
		require.Contains(t, failure.Message, "in use by first, as /dev/null")
	}
	h.deploy(with("other", "/dev/zero", 30))
	h.must(contract.StepStop, verb(first, v1.VerbStop, 11))
	_, failure := h.do(contract.StepStart, second)
	require.NotNil(t, failure, "what is stopped keeps its devices")
	h.deploy(verb(first, v1.VerbStart, 12))
	h.must(contract.StepRemove, verb(first, v1.VerbRemove, 13))
	h.deploy(second)
}

// A link may lead elsewhere by the time that a container is started again.
func TestALinkThatWasChangedGivesNoOtherDevice(t *testing.T) {
	h, link, with := deviceHost(t)
	first, second := with("first", "/dev/zero", 10), with("second", link, 20)
	h.deploy(first)
	h.deploy(second)
	change := func(device string) {
		require.NoError(t, os.Remove(link))
		require.NoError(t, os.Symlink(device, link))
	}
	h.must(contract.StepStop, verb(second, v1.VerbStop, 21))
	for device, reason := range map[string]v1.Reason{"/dev/zero": v1.ReasonNoCapacity, "/dev/full": v1.ReasonPolicyDenied} {
		change(device)
		_, failure := h.do(contract.StepStart, verb(second, v1.VerbStart, 22))
		require.NotNil(t, failure)
		require.Equal(t, reason, failure.Reason)
		_, failure = h.as(restarting{h.rt}, contract.StepStart, verb(second, v1.VerbStart, 22))
		require.NotNil(t, failure)
		require.Equal(t, reason, failure.Reason)
	}
	change("/dev/zero")
	h.must(contract.StepStop, verb(first, v1.VerbStop, 11))
	h.must(contract.StepStart, verb(second, v1.VerbStart, 23))
}

func TestOfTwoThatStartAtOnceOneGetsTheDevice(t *testing.T) {
	h, link, with := deviceHost(t)
	for round := range int64(5) {
		first, second := with("first", "/dev/null", 10*round+1), with("second", link, 10*round+1)
		var starting sync.WaitGroup
		var got [2]bool
		for i, in := range []contract.StepIn{first, second} {
			starting.Go(func() {
				_, failure := h.do(contract.StepStart, in)
				got[i] = failure == nil
			})
		}
		starting.Wait()
		require.False(t, got[0] && got[1], "both got it")
		for _, in := range []contract.StepIn{first, second} {
			h.must(contract.StepRemove, verb(in, v1.VerbRemove, 10*round+2))
		}
	}
}
