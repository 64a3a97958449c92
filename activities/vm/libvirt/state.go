package libvirt

import (
	golibvirt "github.com/digitalocean/go-libvirt"

	"github.com/berth-dev/berth/activities/vm"
)

// power says what a state of libvirt's and its reason mean.
func power(state golibvirt.DomainState, reason int32) (p vm.Power, why string, ending vm.Ending) {
	switch state {
	case golibvirt.DomainRunning, golibvirt.DomainBlocked, golibvirt.DomainShutdown, golibvirt.DomainPmsuspended:
		return vm.PowerRunning, "", "" // shutting down is running until it is over
	case golibvirt.DomainPaused:
		return vm.PowerPaused, pauseReason(golibvirt.DomainPausedReason(reason)), ""
	case golibvirt.DomainCrashed:
		return vm.PowerOff, "", vm.EndingCrashed
	case golibvirt.DomainShutoff:
		return vm.PowerOff, "", shutoffEnding(golibvirt.DomainShutoffReason(reason))
	case golibvirt.DomainNostate:
		return vm.PowerPaused, "no state", ""
	default:
		return vm.PowerPaused, "an unknown state", ""
	}
}

func shutoffEnding(reason golibvirt.DomainShutoffReason) vm.Ending {
	switch reason { // the others say nothing about how the guest ended
	case golibvirt.DomainShutoffShutdown:
		return vm.EndingShutdown
	case golibvirt.DomainShutoffDestroyed:
		return vm.EndingDestroyed
	case golibvirt.DomainShutoffCrashed:
		return vm.EndingCrashed
	case golibvirt.DomainShutoffFailed:
		return vm.EndingFailed
	default:
		return vm.EndingUnknown
	}
}

// eventEnding says how a domain ended of which an event says that it has; empty for other events. After a start that failed
// libvirt says the same as after a QEMU that is gone: of a guest that ran it is a crash.
func eventEnding(e golibvirt.DomainEventLifecycleMsg) vm.Ending {
	if golibvirt.DomainEventType(e.Event) != golibvirt.DomainEventStopped {
		return ""
	}
	switch golibvirt.DomainEventStoppedDetailType(e.Detail) { // the others say nothing about how the guest ended
	case golibvirt.DomainEventStoppedShutdown:
		return vm.EndingShutdown
	case golibvirt.DomainEventStoppedDestroyed:
		return vm.EndingDestroyed
	case golibvirt.DomainEventStoppedCrashed, golibvirt.DomainEventStoppedFailed:
		return vm.EndingCrashed
	default:
		return vm.EndingUnknown
	}
}

func pauseReason(reason golibvirt.DomainPausedReason) string {
	switch reason { // the others are moments of operations that Berth does not do
	case golibvirt.DomainPausedUser:
		return "by someone on the host"
	case golibvirt.DomainPausedIoerror:
		return "I/O error; the host's disk may be full"
	case golibvirt.DomainPausedWatchdog:
		return "by its watchdog"
	case golibvirt.DomainPausedCrashed:
		return "the guest crashed"
	case golibvirt.DomainPausedStartingUp:
		return "starting up"
	default:
		return "by libvirt"
	}
}
