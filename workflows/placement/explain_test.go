package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/placement"
)

func host(name string, change func(*v1.Host)) v1.Host {
	h := v1.Host{
		Name: name, State: v1.HostOnline, Guard: true, Labels: map[string]string{"rack": "a"}, Capacity: v1.Amounts{CPUs: 2000, Memory: 1000},
		Runtimes: []v1.Runtime{{Name: "docker", Kinds: []v1.Kind{v1.KindContainer}, Ready: true}},
	}
	if change != nil {
		change(&h)
	}
	return h
}

func web(memory v1.Bytes, p *v1.Placement) v1.Workload {
	return v1.Workload{Kind: v1.KindContainer, Container: &v1.ContainerSpec{
		Common: v1.Common{Placement: p}, Resources: v1.Resources{Memory: memory},
	}}
}

func TestExplainNamesTheHostAndWhyNotTheOthers(t *testing.T) {
	hosts := []v1.Host{
		host("away", func(h *v1.Host) { h.State = v1.HostOffline }),
		host("busy", func(h *v1.Host) { h.Reserved.Memory = 900 }),
		host("closed", func(h *v1.Host) { h.Cordoned = true }),
		host("bare", func(h *v1.Host) { h.Runtimes = nil }),
		host("down", func(h *v1.Host) {
			h.Runtimes = []v1.Runtime{{Name: "docker", Kinds: []v1.Kind{v1.KindContainer}, Message: "no socket"}}
		}),
		host("other", func(h *v1.Host) { h.Labels = nil }),
		host("unguarded", func(h *v1.Host) { h.Guard = false }),
		host("half", func(h *v1.Host) { h.Reserved.Memory = 500 }),
		host("free", nil),
	}
	strictly := web(200, &v1.Placement{Labels: []string{"rack=a"}})
	strictly.Container.Strict = true
	fitting, refusals := placement.Explain(hosts, strictly)
	require.Equal(t, []string{"free", "half"}, fitting, "the one with the most memory left is first")
	reasons := map[string]v1.Reason{}
	for _, r := range refusals {
		require.NotEmpty(t, r.Short)
		reasons[r.Host] = r.Reason
	}
	require.Equal(t, map[string]v1.Reason{
		"away": v1.ReasonHostOffline, "busy": v1.ReasonNoCapacity, "closed": v1.ReasonNoMatchingHost,
		"bare": v1.ReasonRuntimeUnavailable, "down": v1.ReasonRuntimeUnavailable, "other": v1.ReasonNoMatchingHost,
		"unguarded": v1.ReasonNoMatchingHost,
	}, reasons)
}

func TestNobodyIsChosenWhereNobodyFits(t *testing.T) {
	fitting, refusals := placement.Explain([]v1.Host{host("small", nil)}, web(5000, nil))
	require.Empty(t, fitting)
	require.Contains(t, refusals[0].Short, "memory short by 4000")
}
