package workload

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func withVolumes(t *testing.T) *fixture {
	t.Helper()
	w := v1.Workload{
		APIVersion: v1.APIVersion, Kind: v1.KindContainer, Metadata: v1.Metadata{Name: "web"},
		Container: &v1.ContainerSpec{Image: "img", Volumes: []v1.Mount{{Name: "old", Target: "/a"}, {Bind: "/srv/own", Target: "/b"}}},
	}
	f := start(t, w)
	require.Empty(t, f.Kept(), "nothing was made anywhere")
	f.running()
	w.Container.Volumes[0].Name = "new"
	_, err := f.Apply(contract.ApplyRequest{RequestID: "second", Workload: w}, f.now)
	require.NoError(t, err)
	return f.running()
}

func TestWhatARemoveWillLeave(t *testing.T) {
	f := withVolumes(t)
	require.Equal(t, []v1.Kept{
		{Kind: v1.KeptVolume, Host: "h1", Name: "old"},
		{Kind: v1.KeptVolume, Host: "h1", Name: "new"},
		{Kind: v1.KeptPath, Host: "h1", Ref: "/srv/own"},
	}, f.Kept(), "a volume of an earlier generation is there too")

	f.ask(v1.VerbRemove).act(v1.VerbRemove)
	require.False(t, f.Doing.Volumes)
	f.Succeeded(contract.StepOut{Kept: []string{"berth.f.h1.web.old", "/srv/own"}}, f.now)
	require.Equal(t, v1.PhaseRemoved, f.Status(f.now).Phase)
	require.Equal(t, "stays on its host: berth.f.h1.web.old, /srv/own", f.Status(f.now).Message)
}

func withoutVolumes(f *fixture) *fixture {
	_, err := f.Ask(v1.VerbRemove, contract.VerbRequest{Volumes: true})
	require.NoError(f.t, err)
	return f
}

func TestARemoveTakesVolumesAwayWhenAsked(t *testing.T) {
	f := withoutVolumes(withVolumes(t))
	require.Equal(t, []v1.Kept{{Kind: v1.KeptPath, Host: "h1", Ref: "/srv/own"}}, f.Kept())
	require.True(t, f.act(v1.VerbRemove).Doing.Volumes)
	require.Equal(t, StepWait, f.next().Kind)
}

func TestAnOpenRemoveCanStillBeAskedForTheVolumes(t *testing.T) {
	f := withVolumes(t).ask(v1.VerbRemove).act(v1.VerbRemove)
	withoutVolumes(f)
	require.Equal(t, StepCancel, f.next().Kind)
	f.Doing.Cancelled = true
	f.fails(v1.ReasonSuperseded, false, "")
	require.True(t, f.act(v1.VerbRemove).Doing.Volumes)
	f.ok()
	require.Equal(t, StepClose, f.next().Kind)
}
