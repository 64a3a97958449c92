package harness

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Machine is the part of a proc filesystem by which an agent tells one boot of its host from another: a host of a test boots
// without this machine.
type Machine struct {
	// ProcFS is for the agent's --procfs.
	ProcFS string

	t testing.TB
}

// NewMachine returns a machine that has booted.
func NewMachine(t testing.TB) *Machine {
	t.Helper()
	m := &Machine{ProcFS: t.TempDir(), t: t}
	m.Boot()
	return m
}

// Boot lets the machine have booted just now.
func (m *Machine) Boot() {
	m.t.Helper()
	id := make([]byte, 16)
	_, err := rand.Read(id)
	require.NoError(m.t, err)
	random := filepath.Join(m.ProcFS, "sys", "kernel", "random")
	require.NoError(m.t, os.MkdirAll(random, 0o755))
	require.NoError(m.t, os.WriteFile(filepath.Join(random, "boot_id"), []byte(hex.EncodeToString(id)+"\n"), 0o600))
	stat := fmt.Sprintf("btime %d\n", time.Now().Unix())
	require.NoError(m.t, os.WriteFile(filepath.Join(m.ProcFS, "stat"), []byte(stat), 0o600))
}

// CrashDomains ends a host's domains as when the machine loses its power: after the boot libvirt knows their definitions, and
// not how they ended.
func CrashDomains(t testing.TB, fleet, host string) {
	t.Helper()
	for _, domain := range RunningDomains(t, fleet) {
		if !strings.HasPrefix(domain, "berth."+fleet+"."+host+".") {
			continue
		}
		definition := filepath.Join(t.TempDir(), "domain.xml")
		require.NoError(t, os.WriteFile(definition, []byte(Virsh(t, "dumpxml", "--inactive", "--security-info", domain)), 0o600))
		Virsh(t, "destroy", domain)
		Virsh(t, "undefine", "--keep-nvram", domain)
		Virsh(t, "define", definition)
	}
}
