package vm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChooseDomainType(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	kvm := write("kvm", "")
	intel := write("intel", "processor\t: 0\nflags\t\t: fpu vme vmx sse\n")
	amd := write("amd", "flags\t\t: fpu svm\n")
	none := write("none", "model name\t: a CPU with vmx in its name\nflags\t\t: fpu vme vmxnet svm_lock\nbugs\t\t: vmx\n")
	missing := filepath.Join(dir, "missing")
	for name, tc := range map[string]struct{ configured, kvm, cpuinfo, want, why string }{
		"Intel":               {"", kvm, intel, typeKVM, "hardware"},
		"AMD":                 {"", kvm, amd, typeKVM, "hardware"},
		"device without CPU":  {"", kvm, none, typeQEMU, "neither vmx nor svm"},
		"CPU without device":  {"", missing, intel, typeQEMU, missing},
		"no /proc":            {"", kvm, missing, typeQEMU, "flags"},
		"configured wins":     {typeQEMU, kvm, intel, typeQEMU, "configured"},
		"configured wins kvm": {typeKVM, missing, none, typeKVM, "configured"},
	} {
		t.Run(name, func(t *testing.T) {
			got, why := chooseDomainType(tc.configured, tc.kvm, tc.cpuinfo)
			require.Equal(t, tc.want, got)
			require.Contains(t, why, tc.why)
		})
	}
}
