package workload

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// launched says that the open action's workflow was begun.
func (f *fixture) launched() *fixture {
	f.Doing.LaunchedAt = f.now
	return f
}

func (f *fixture) lose(host string) {
	f.HostLostOrBack(contract.HostStatus{Host: host, LeaseNo: 1}, true, f.now)
}

func TestACancelledActionDoesNotWaitForALostHost(t *testing.T) {
	f := service(t, "", 0).running().drain(0)
	f.act(v1.VerbDeploy)
	f.placedOn("h2").launched()
	f.lose("h1")
	require.Equal(t, StepWait, f.next().Kind, "a move goes on without the host that it leaves")
	f.lose("h2")
	require.Equal(t, StepCancel, f.next().Kind)
	f.Doing.Cancelled = true
	require.Equal(t, StepGiveUp, f.next().Kind)
	f.Doing.GivenUp = true
	require.Equal(t, StepWait, f.next().Kind, "it is told once")

	f.Failed(contract.FromActivityError(contract.Canceled("")), f.now)
	require.Equal(t, "h1", f.Placement.Host)
	require.Equal(t, []Remain{{Host: "h2", Instance: "i-h2", Away: true}}, f.Remains, "what may have been made there is owed")
}

func TestACancelledActionWaitsForAHostThatIsThere(t *testing.T) {
	f := service(t, "", 0).running().drain(0)
	f.act(v1.VerbDeploy)
	f.placedOn("h2").launched()
	f.Doing.Cancelled = true // a later request
	f.lose("h1")
	require.Equal(t, StepWait, f.next().Kind, "it works on h2")
	f.lose("h2")
	require.Equal(t, StepGiveUp, f.next().Kind, "also if the host is lost only after the cancel")

	f.Doing.LaunchedAt = time.Time{}
	require.Equal(t, StepWait, f.next().Kind, "there is no action yet that could be told")
}

func TestACancelledRemovalOfARemainDoesNotWaitForALostHost(t *testing.T) {
	f := service(t, "", 0).running().drain(0)
	f.act(v1.VerbDeploy)
	f.placedOn("h2").ok()
	step := f.next()
	require.Equal(t, "h1", step.Remain)
	f.Begin(step, f.now)
	f.launched()
	f.Doing.Cancelled = true
	f.lose("h2")
	require.Equal(t, StepWait, f.next().Kind, "it works on h1")
	f.lose("h1")
	require.Equal(t, StepGiveUp, f.next().Kind)
}

// stopsFirst begins a move that removes the old copy before the new one starts.
func stopsFirst(t *testing.T) *fixture {
	t.Helper()
	f := service(t, "", 0).running().drain(0)
	f.Drain.StopFirst = true
	return f.act(v1.VerbDeploy).placedOn("h2")
}

func TestAMoveDoesNotWaitForAHostThatIsLostWhileItIsLeft(t *testing.T) {
	f := stopsFirst(t)
	f.LeavesHome()
	f.lose("h1")
	require.Equal(t, Step{Kind: StepCancel, Away: true}, f.next())
	f.Doing.Cancelled = true
	require.Equal(t, StepGiveUp, f.next().Kind)
	f.Doing.GivenUp = true
	require.Equal(t, StepWait, f.next().Kind)

	fence := f.Fence
	e := *contract.FromActivityError(contract.Canceled(""))
	e.Step = stepLeave
	ledger := f.Failed(&e, f.now)
	require.Equal(t, Ledger{Host: "h2", Release: &contract.ReleaseRequest{Workload: "web", Fence: fence}}, ledger)
	require.Equal(t, "h1", f.Placement.Host)
	require.Empty(t, f.Remains, "nothing was made on h2")
	step := f.next()
	require.Equal(t, StepWait, step.Kind, "it moves because its host is lost, and as late")
	require.False(t, step.Until.IsZero())
}

func TestAMoveOfAnEarlierVersionWaitsForTheHostThatItLeaves(t *testing.T) {
	f := stopsFirst(t)
	f.LeavesHome()
	f.lose("h1")
	f.Doing.Stays = true
	require.Equal(t, StepWait, f.next().Kind)
}

func TestOnceNothingIsLeftThereAMoveNeedsTheOldHostNoMore(t *testing.T) {
	f := stopsFirst(t)
	f.LeavesHome()
	f.LeftHome()
	f.launched()
	f.lose("h1")
	require.Equal(t, StepWait, f.next().Kind)
}

func TestADrainDoesNotWaitForAnAgentThatSaidGoodbye(t *testing.T) {
	leaves := func(d *Drain) {
		d.Left = true
	}
	t.Run("while it is left", func(t *testing.T) {
		f := stopsFirst(t)
		leaves(f.Doing.From.Drain)
		require.Equal(t, Step{Kind: StepCancel, Away: true}, f.next())
	})
	t.Run("while a move leaves it with both copies", func(t *testing.T) {
		f := service(t, "", 0).running().drain(0).act(v1.VerbDeploy).placedOn("h2")
		leaves(f.Doing.From.Drain)
		require.Equal(t, StepWait, f.next().Kind, "the new copy starts without it")
	})
	t.Run("while a move goes there", func(t *testing.T) {
		f := service(t, "", 0).running().drain(0).act(v1.VerbDeploy).placedOn("h2").launched()
		f.Drain = &Drain{}
		leaves(f.Drain)
		require.Equal(t, Step{Kind: StepCancel, Away: true}, f.next())
		f.Failed(contract.FromActivityError(contract.Canceled("")), f.now)
		require.Equal(t, []Remain{{Host: "h2", Instance: "i-h2", Away: true}}, f.Remains)
	})
	t.Run("while it removes what can't move", func(t *testing.T) {
		f := service(t, "", 0).running()
		f.ask(v1.VerbStop)
		f.act(v1.VerbStop)
		f.ok()
		f.drain(0).act(v1.VerbRemove)
		require.True(t, f.Doing.Leave)
		require.Equal(t, StepWait, f.next().Kind)
		leaves(f.Drain)
		require.Equal(t, Step{Kind: StepCancel, Away: true}, f.next())
	})
}
