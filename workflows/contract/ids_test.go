package contract

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
)

func TestActionIDs(t *testing.T) {
	name, verb, fence, ok := ParseActionID(ActionID("web", v1.VerbStop, 1700000000001))
	require.True(t, ok)
	require.Equal(t, "web", name)
	require.Equal(t, v1.VerbStop, verb)
	require.EqualValues(t, 1700000000001, fence)
	for _, id := range []string{
		"", "workload/web", "workload/web/deploy", "workload/web/deploy/", "workload/web/deploy/x", "workload/web/deploy/-1",
		"workload/web/deploy/+1", "workload/web/deploy/01", "workload/web/restart/1", "workload/a'b/deploy/1", "workload//deploy/1",
		"host/web/deploy/1", "workload/web/deploy/1/2", "workload/../deploy/1",
	} {
		_, _, _, ok := ParseActionID(id)
		require.False(t, ok, id)
	}
}
