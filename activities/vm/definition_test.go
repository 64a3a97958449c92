package vm

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestDefinition(t *testing.T) {
	ids := identity{"prod", "a"}
	base := definition{
		Name: ids.domain("web"), UUID: ids.uuid("web"),
		Mark:       mark{Fleet: "prod", Host: "a", Workload: "web", Generation: 2, Fence: 17, Spec: "ab12"},
		DomainType: typeQEMU, VCPUs: 2, Memory: 1 << 30,
		Disks:   []attachment{{Name: "root", Path: "/data/disk-root.qcow2", Format: v1.FormatQCOW2}},
		Console: "/data/console.log",
	}
	full := base
	full.DomainType, full.Firmware, full.Seed = typeKVM, v1.FirmwareUEFI, "/data/seed.iso"
	full.Mark.Metadata = map[string]string{"owner": "ops & dev", "cost-center": "7"}
	full.Disks = []attachment{
		{Name: "root", Path: "/data/disk-root.qcow2", Format: v1.FormatQCOW2, Base: "/images/base", BaseFormat: v1.FormatQCOW2},
		{Name: "a-name-longer-than-twenty", Path: "/data/disk-scratch.raw", Format: v1.FormatRaw},
		{Name: "mine", Path: "/srv/mine.qcow2", Format: v1.FormatQCOW2, ReadOnly: true},
	}
	full.Networks = []v1.Network{
		{Network: "default", MAC: "52:54:00:00:00:01", IP: "192.168.122.9"},
		{Bridge: "br0", MAC: "52:54:00:00:00:02"},
	}
	for name, d := range map[string]definition{"minimal": base, "full": full} {
		t.Run(name, func(t *testing.T) {
			got, err := d.xml()
			require.NoError(t, err)
			golden := filepath.Join("testdata", name+".xml")
			if *update {
				require.NoError(t, os.MkdirAll("testdata", 0o755))
				require.NoError(t, os.WriteFile(golden, []byte(got+"\n"), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got+"\n")
			m, ok, err := parseMark(got)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, d.Mark, m)
		})
	}
}

func TestDiskTarget(t *testing.T) {
	for index, want := range map[int]string{0: "vda", 25: "vdz", 26: "vdaa", 51: "vdaz", 52: "vdba"} {
		require.Equal(t, want, diskTarget(index))
	}
}
