package vm_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/vm"
	"github.com/berth-dev/berth/activities/vm/libvirt"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestLibvirtDown(t *testing.T) {
	ctx := context.Background()
	driver := libvirt.New(libvirt.Config{Socket: filepath.Join(t.TempDir(), "no-such-socket")})
	t.Cleanup(driver.Close)
	rt := vm.New(vm.Config{Fleet: testFleet, Host: "down", DataDir: t.TempDir()}, driver, nil)

	probe := rt.Probe(ctx)
	require.False(t, probe.Ready)
	require.Contains(t, probe.Message, "libvirtd")
	require.Equal(t, []v1.Kind{v1.KindVM}, probe.Kinds)

	_, err := rt.Observe(ctx, record.Record{Workload: "web"})
	require.Equal(t, v1.ReasonRuntimeUnavailable, contract.ReasonOf(err), "unobservable, not absent")
	require.False(t, contract.FromActivityError(err).Permanent)
	err = rt.Watch(ctx, func(string) { require.Fail(t, "nothing to look at") })
	require.Equal(t, v1.ReasonRuntimeUnavailable, contract.ReasonOf(err))
}

func TestProbeSaysWhatItChose(t *testing.T) {
	h := newHost(t, realURI)
	probe := h.rt.Probe(context.Background())
	require.True(t, probe.Ready, probe.Message)
	require.Regexp(t, `^libvirt \d+\.\d+\.\d+, QEMU \d+\.\d+\.\d+$`, probe.Version)
	require.Regexp(t, `^domain type (kvm: hardware virtualisation|qemu: emulated, slow: .+)$`, probe.Message)

	rt := vm.New(vm.Config{Fleet: testFleet, Host: h.name, DomainType: "xen"}, h.driver, nil)
	probe = rt.Probe(context.Background())
	require.False(t, probe.Ready)
	require.Contains(t, probe.Message, "xen")
}
