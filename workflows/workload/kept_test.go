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

// A host tells from it what was made by actions that failed, and could not say so.
func TestActionsSaySinceWhenDataIsThere(t *testing.T) {
	f := service(t, "", 0).running()
	first := f.Deployed.Fence
	require.Equal(t, first, f.DataAt)
	f.ask(v1.VerbRestart).act(v1.VerbDeploy).fails(v1.ReasonPortConflict, false, contract.StepStart)
	require.Equal(t, first, f.DataAt, "one that failed has told nothing")
	f.now = f.NextTry
	f.act(v1.VerbDeploy).ok()
	require.Equal(t, f.Deployed.Fence, f.DataAt)
	require.Greater(t, f.DataAt, first)

	in := contract.StepIn{Ref: contract.Ref{Fence: 9}}
	require.True(t, in.Anew(9), "it made it itself")
	require.False(t, in.Anew(8), "the first deploy goes on with what another life of the name left")
	in.Since = 7
	require.True(t, in.Anew(8))
	require.False(t, in.Anew(7))
}

// What is gone is made again, whatever came between; that its data is gone must not pass in silence.
func TestDataThatWasMadeAgainIsToldOf(t *testing.T) {
	web := func(volumes ...string) v1.Workload {
		w := v1.Workload{APIVersion: v1.APIVersion, Kind: v1.KindContainer, Metadata: v1.Metadata{Name: "web"}, Container: &v1.ContainerSpec{Image: "img"}}
		for _, name := range volumes {
			w.Container.Volumes = append(w.Container.Volumes, v1.Mount{Name: name, Target: "/" + name})
		}
		return w
	}
	db := v1.Workload{APIVersion: v1.APIVersion, Kind: v1.KindVM, Metadata: v1.Metadata{Name: "db"}, VM: &v1.VMSpec{
		VCPUs: 1, Memory: 64 << 20, Disks: []v1.Disk{{Name: "data", Size: 1 << 20}},
	}}
	made := func(f *fixture) {
		f.act(v1.VerbDeploy).placed()
		f.Succeeded(contract.StepOut{Made: []string{"data"}}, f.now)
	}
	stopped := func(f *fixture) { f.ask(v1.VerbStop).act(v1.VerbStop).ok() }
	more := func(f *fixture) {
		_, err := f.Apply(contract.ApplyRequest{RequestID: "more", Workload: web("data", "more")}, f.now)
		require.NoError(t, err)
	}
	for name, c := range map[string]struct {
		workload v1.Workload
		between  func(f *fixture)
		told     string
	}{
		"it vanished with what ran": {web("data"), func(f *fixture) {
			f.sees(contract.RunAbsent, nil)
			f.now = f.NextTry
		}, "volumes were gone, and were made again, empty: data"},
		"a volume, while it was stopped": {web("data"), func(f *fixture) {
			stopped(f)
			f.ask(v1.VerbStart)
		}, "volumes were gone, and were made again, empty: data"},
		"a disk, while it was stopped": {db, func(f *fixture) {
			stopped(f)
			f.ask(v1.VerbStart)
		}, "disks were gone, and were made again, as new: data"},
		"a volume, before an update": {web("data"), more, "empty: data"},
		"a volume that is new":       {web("more"), more, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, c.workload)
			made(f)
			require.Empty(t, f.Conditions, "the first deploy makes them")
			c.between(f)
			made(f)
			if c.told == "" {
				require.Empty(t, f.Conditions)
				return
			}
			require.Len(t, f.Conditions, 1)
			require.Equal(t, v1.ReasonNotFound, f.Conditions[0].Reason)
			require.Contains(t, f.Conditions[0].Message, c.told)
		})
	}
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
