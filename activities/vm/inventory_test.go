package vm_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/disk"
	"github.com/berth-dev/berth/activities/step"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func (h *host) listed(kind contract.ThingKind) []contract.Thing {
	h.t.Helper()
	all, err := h.rt.Inventory(h.t.Context(), kind)
	require.NoError(h.t, err)
	return all
}

func (h *host) discard(o contract.Orphan) (string, error) {
	rec, err := h.store.Get(o.Thing.Workload)
	require.NoError(h.t, err)
	o.Record = rec.Fence
	return h.runner.Discard(h.t.Context(), o, func(ctx context.Context, c *step.Call) (string, error) { return h.rt.Discard(ctx, c, o) })
}

func TestInventory(t *testing.T) {
	h, other := newHost(t, syntheticURI), newHost(t, syntheticURI)
	w := v1.Workload{
		APIVersion: v1.APIVersion, Kind: v1.KindVM, Metadata: v1.Metadata{Name: "db"},
		VM: &v1.VMSpec{
			VCPUs: 1, Memory: 64 << 20, Disks: []v1.Disk{{Name: "root", Size: 8 << 20}}, CloudInit: &v1.CloudInit{UserData: "#cloud-config"},
		},
	}
	w.VM.StopGracePeriod = v1.Duration(time.Second)
	w.Default()
	deploy := []contract.Step{contract.StepPrepare, contract.StepCreate, contract.StepStart}
	h.begin(w, 4, v1.VerbDeploy).must(deploy...)
	other.begin(w, 1, v1.VerbDeploy).must(deploy...)
	foreign := filepath.Join(h.dir("db"), "disk-foreign.qcow2")
	require.NoError(t, disk.Mark(foreign, disk.Marker{Fleet: "another", Host: h.name, Workload: "db"}))
	misplaced := filepath.Join(h.dir("db"), "disk-misplaced.qcow2")
	require.NoError(t, disk.Mark(misplaced, disk.Marker{Fleet: testFleet, Host: h.name, Workload: "web"}))

	domains := h.listed(contract.ThingDomain)
	require.Len(t, domains, 1, "another host's are not seen")
	domain := domains[0]
	require.Equal(t, h.domain("db"), domain.Name)
	require.Equal(t, []int64{4, h.fence}, []int64{domain.Generation, domain.Fence})
	require.True(t, domain.Known)
	require.Less(t, domain.Age, time.Minute)

	var root contract.Thing
	disks := h.listed(contract.ThingDisk)
	require.Len(t, disks, 2, "another fleet's are not seen")
	for _, d := range disks {
		if strings.HasSuffix(d.Name, "misplaced.qcow2") {
			require.NotEmpty(t, d.Odd)
			continue
		}
		root = d
	}
	require.Equal(t, "workloads/db/disk-root.qcow2", root.Name)
	require.Positive(t, root.Size)
	require.True(t, root.Known)
	seeds := h.listed(contract.ThingSeed)
	require.Len(t, seeds, 1)

	for _, thing := range []contract.Thing{root, seeds[0]} {
		kept, err := h.discard(contract.Orphan{Thing: thing, Proven: true})
		require.NoError(t, err)
		require.Contains(t, kept, "domain", "nothing is taken from under a guest")
	}
	later := domain
	later.Fence++
	kept, err := h.discard(contract.Orphan{Thing: later})
	require.NoError(t, err)
	require.NotEmpty(t, kept)

	for _, thing := range []contract.Thing{domain, seeds[0], root} {
		for range 2 { // a repeat finds it gone
			kept, err = h.discard(contract.Orphan{Thing: thing, Proven: true})
			require.NoError(t, err)
			require.Empty(t, kept)
		}
	}
	require.Empty(t, h.listed(contract.ThingDomain))
	require.Empty(t, h.listed(contract.ThingSeed))
	require.NoFileExists(t, filepath.Join(h.dataDir, root.Name))
	require.FileExists(t, disk.MarkerPath(foreign))
	require.Len(t, other.listed(contract.ThingDomain), 1)
	_, err = os.Stat(filepath.Join(other.dir("db"), "disk-root.qcow2"))
	require.NoError(t, err)
}
