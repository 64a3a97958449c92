package v1

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLabelConditions(t *testing.T) {
	labels := map[string]string{"rack": "a", "gpu": ""}
	for condition, holds := range map[string]bool{
		"rack=a": true, "rack=b": false, "rack = a": true, "zone=a": false,
		"rack!=a": false, "rack!=b": true, "zone!=a": true,
		"rack in (a, b)": true, "rack in (b,c)": false, "zone in (a)": false,
		"gpu": true, "zone": false,
	} {
		c, err := ParseLabelCondition(condition)
		require.NoError(t, err, condition)
		require.Equal(t, holds, c.Holds(labels), condition)
	}
	for _, bad := range []string{"", "=a", "rack in a, b", "rack in (a", "rack==a", "ra ck=a", "rack=a b", "!=a", "(a)", "rack in ()", "rack in ( )"} {
		_, err := ParseLabelCondition(bad)
		require.Error(t, err, bad)
	}
}

func TestPlacementRefuses(t *testing.T) {
	labels := map[string]string{"rack": "a"}
	require.Empty(t, (*Placement)(nil).Refuses("h1", labels))
	require.Empty(t, (&Placement{Hosts: []string{"h1"}, Labels: []string{"rack=a"}}).Refuses("h1", labels))
	require.NotEmpty(t, (&Placement{Hosts: []string{"h2"}}).Refuses("h1", labels))
	require.Contains(t, (&Placement{Labels: []string{"rack=a", "rack!=a"}}).Refuses("h1", labels), "rack!=a")
}

func TestAWorkloadIsKeptApartByALabelOfItsOwn(t *testing.T) {
	w := minimalContainer()
	w.Container.Placement = &Placement{Apart: "app"}
	require.ErrorContains(t, w.Validate(), "spec.placement.apart: must be the key of one of metadata.labels")
	w.Metadata.Labels = map[string]string{"app": "shop"}
	require.NoError(t, w.Validate())
}

func FuzzLabelCondition(f *testing.F) {
	f.Add("rack in (a, b)")
	f.Add("a!=b")
	f.Fuzz(func(t *testing.T, s string) {
		if c, err := ParseLabelCondition(s); err == nil {
			require.NotEmpty(t, c.Key)
			c.Holds(map[string]string{c.Key: "x"})
		}
	})
}

func TestStrictIsForWhatMoves(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Workload)
		want   []string
	}{
		"a container":       {func(*Workload) {}, nil},
		"one that says so":  {func(w *Workload) { w.Container.OnHostLoss = LossReschedule }, nil},
		"a job":             {func(w *Workload) { w.Container.Type = TypeJob }, nil},
		"one that waits":    {func(w *Workload) { w.Container.OnHostLoss = LossWait }, []string{"spec.strict: only with onHostLoss: reschedule: what waits for its host never has a second copy"}},
		"one with a volume": {func(w *Workload) { w.Container.Volumes = []Mount{{Name: "data", Target: "/data"}} }, []string{"spec.strict: must be false: its volumes and disks are on one host, so that it never moves and never has a second copy"}},
		"a virtual machine": {func(w *Workload) { *w = *minimalVM(); w.VM.Strict = true }, []string{"spec.strict: must be false: its volumes and disks are on one host, so that it never moves and never has a second copy"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := strictContainer()
			c.change(w)
			require.Equal(t, c.want, fieldErrors(t, w.Validate()))
		})
	}
}
