package harness

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func readPID(t *testing.T, path string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	require.NoError(t, err)
	return pid
}

func contains(path, text string) bool {
	data, err := os.ReadFile(path)
	return err == nil && bytes.Contains(data, []byte(text))
}

// define makes a domain that nobody starts.
func define(t *testing.T, name string) {
	t.Helper()
	defineXML(t, `<domain type="qemu"><name>`+name+`</name><memory unit="MiB">64</memory>`+
		`<os><type arch="x86_64">hvm</type></os></domain>`)
}

func defineXML(t *testing.T, xml string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "domain.xml")
	require.NoError(t, os.WriteFile(path, []byte(xml), 0o600))
	Virsh(t, "define", path)
}

func guestXML(name, disk, console string) string {
	return fmt.Sprintf(`<domain type="qemu">
  <name>%s</name><memory unit="MiB">128</memory><vcpu>1</vcpu>
  <os><type arch="x86_64" machine="q35">hvm</type></os>
  <features><acpi/></features>
  <devices>
    <disk type="file" device="disk"><driver name="qemu" type="qcow2"/><source file="%s"/><target dev="vda" bus="virtio"/></disk>
    <serial type="file"><source path="%s"/></serial>
  </devices>
</domain>`, name, disk, console)
}
