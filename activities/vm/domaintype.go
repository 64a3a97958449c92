package vm

import (
	"os"
	"strings"
)

// The types of domain that Berth makes.
const (
	typeKVM  = "kvm"
	typeQEMU = "qemu"
)

// chooseDomainType says which type of domain this host runs, and why. A device /dev/kvm alone proves nothing: on some
// clouds it opens, and a guest hangs under it, because the processor offers no virtualisation.
func chooseDomainType(configured, kvmDevice, cpuinfo string) (domainType, why string) {
	if configured != "" {
		return configured, "configured"
	}
	device, err := os.OpenFile(kvmDevice, os.O_RDWR, 0)
	if err != nil {
		return typeQEMU, "emulated, slow: " + kvmDevice + " cannot be used"
	}
	_ = device.Close() // it was opened only to see whether it can be
	info, err := os.ReadFile(cpuinfo)
	if err != nil {
		return typeQEMU, "emulated, slow: the processor's flags cannot be read"
	}
	if !hasVirtualisation(string(info)) {
		return typeQEMU, "emulated, slow: the processor has neither vmx nor svm"
	}
	return typeKVM, "hardware virtualisation"
}

// hasVirtualisation looks for Intel's or AMD's flag in what Linux says of the processors.
func hasVirtualisation(cpuinfo string) bool {
	for line := range strings.Lines(cpuinfo) {
		key, flags, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(key) != "flags" {
			continue
		}
		for flag := range strings.FieldsSeq(flags) {
			if flag == "vmx" || flag == "svm" {
				return true
			}
		}
	}
	return false
}
