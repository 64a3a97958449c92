package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/placement"
)

func TestTheBestHostIsAskedFirst(t *testing.T) {
	host := func(name string, reserved v1.Bytes, workloads int) v1.Host {
		return v1.Host{
			Name: name, State: v1.HostOnline, Workloads: workloads,
			Capacity: v1.Amounts{Memory: 100}, Reserved: v1.Amounts{Memory: reserved},
		}
	}
	away := host("away", 0, 0)
	away.State = v1.HostOffline
	cordoned := host("cordoned", 0, 0)
	cordoned.Cordoned = true
	order, refusals := placement.Rank([]v1.Host{
		away, cordoned, host("b", 10, 1), host("busy", 10, 2), host("a", 10, 1), host("empty", 0, 9), host("full", 100, 1),
	}, contract.Needs{}, nil)
	require.Equal(t, []string{"empty", "a", "b", "busy", "full", "away", "cordoned"}, order)
	require.Empty(t, refusals)

	guarded := host("guarded", 50, 1)
	guarded.Guard = true
	order, _ = placement.Rank([]v1.Host{host("free", 0, 0), guarded}, contract.Needs{Strict: true}, nil)
	require.Equal(t, []string{"guarded", "free"}, order, "a guard comes before room, for what needs one")
}
