package workload

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// drain says that host h1 is drained, stopping after some time what can't move; zero is never.
func (f *fixture) drain(stopAfter time.Duration) *fixture {
	n := contract.HostDrain{Host: "h1", Seq: f.DrainSeen.Seq + 1}
	if stopAfter > 0 {
		n.StopAt = f.now.Add(stopAfter)
	}
	f.HostDrain(n)
	return f
}

func (f *fixture) undrain() *fixture {
	f.HostDrain(contract.HostDrain{Host: "h1", Seq: f.DrainSeen.Seq + 1, Cancelled: true})
	return f
}

func (f *fixture) placedOn(host string) *fixture {
	f.Placed(contract.PlaceOut{Host: host, Instance: "i-" + host})
	return f
}

func (f *fixture) says() v1.DrainStanding {
	s, _ := f.standing()
	return s
}

func pinned(t require.TestingT) *fixture {
	f := service(t, "", 0)
	f.Workload.Container.Volumes = []v1.Mount{{Name: "data", Target: "/data"}}
	return f.running()
}

func TestAServiceMovesAndOnlyThenIsTheOldCopyRemoved(t *testing.T) {
	f := service(t, "", 0).running().drain(0)
	before := *f.Deployed
	f.act(v1.VerbDeploy)
	require.True(t, f.Doing.Relocate)
	f.placedOn("h2")
	require.Equal(t, &before, f.Doing.From.Deployed, "the old copy runs on")
	require.Equal(t, before.Generation, f.Status(f.now).RunningGeneration)
	f.ok()
	require.Equal(t, "h2", f.Status(f.now).Host)
	require.Equal(t, v1.PhaseRunning, f.Status(f.now).Phase)
	require.Nil(t, f.Drain)

	step := f.next()
	require.Equal(t, StepAct, step.Kind)
	require.Equal(t, v1.VerbRemove, step.Action)
	require.Equal(t, "h1", step.Remain)
	f.Begin(step, f.now)
	require.Equal(t, v1.PhaseRunning, f.Status(f.now).Phase, "what a user wants is not touched")
	require.True(t, f.Status(f.now).Settled)
	ledger := f.Succeeded(contract.StepOut{}, f.now)
	require.Equal(t, "h1", ledger.Host)
	require.Equal(t, f.Fence, ledger.Release.Fence)
	require.Empty(t, f.Remains)
	require.Equal(t, StepWait, f.next().Kind)
	require.Equal(t, "h2", f.Placement.Host)
}

func TestAMoveThatCantBeginLeavesAllAsItIs(t *testing.T) {
	f := service(t, "", 0).running().drain(0)
	deployed := f.Deployed
	f.act(v1.VerbDeploy)
	ledger := f.Failed(&contract.Error{Reason: v1.ReasonNoCapacity, Message: "short", Step: contract.ActivityPlace}, f.now)
	require.Equal(t, Ledger{}, ledger)
	st := f.Status(f.now)
	require.Equal(t, v1.PhaseRunning, st.Phase, "it runs as well as before")
	require.Equal(t, v1.ReasonHostDraining, st.Reason)
	require.Contains(t, st.Message, "short")
	require.Equal(t, deployed, f.Deployed)
	require.Equal(t, v1.DrainWaiting, f.says())
	require.Equal(t, StepWait, f.next().Kind)
	require.False(t, f.WaitsSince.IsZero(), "it is in the queue")
	f.Woken()
	require.Equal(t, StepAct, f.next().Kind, "the queue wakes it")
	f.undrain()
	require.Equal(t, StepWait, f.next().Kind)
	require.NotZero(t, f.Leaving, "it leaves the queue")
	require.Equal(t, v1.ReasonNone, f.Status(f.now).Reason)
}

func TestAMoveThatFailsGoesHomeAndLeavesNothingBehind(t *testing.T) {
	for name, c := range map[string]struct {
		step   contract.Step
		behind int
	}{
		"before anything was made there": {contract.StepPrepare, 0},
		"after something was made there": {contract.StepStart, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := service(t, "", 0).running().drain(0).act(v1.VerbDeploy).placedOn("h2")
			fence := f.Fence
			ledger := f.Failed(&contract.Error{Reason: v1.ReasonImageNotFound, Message: "m", Permanent: true, Step: string(c.step)}, f.now)
			require.Equal(t, "h1", f.Placement.Host)
			require.NotNil(t, f.Deployed)
			require.Equal(t, v1.PhaseRunning, f.Status(f.now).Phase)
			require.Len(t, f.Remains, c.behind)
			if c.behind == 0 {
				require.Equal(t, Ledger{Host: "h2", Release: &contract.ReleaseRequest{Workload: "web", Fence: fence}}, ledger)
				return
			}
			require.Equal(t, Ledger{}, ledger, "the room there is kept until it is empty")
			step := f.next()
			require.Equal(t, "h2", step.Remain)
			f.Begin(step, f.now)
			require.Equal(t, "h2", f.Succeeded(contract.StepOut{}, f.now).Host)
			step = f.next()
			require.Equal(t, StepWait, step.Kind)
			require.Equal(t, f.Drain.NextTry, step.Until)
			f.later(time.Hour).act(v1.VerbDeploy)
		})
	}
}

func TestWhereHostsShareAPortTheOldCopyGoesFirst(t *testing.T) {
	f := service(t, "", 0).running().drain(0).act(v1.VerbDeploy).placedOn("h2")
	require.False(t, f.Doing.StopFirst)
	f.fails(v1.ReasonPortConflict, false, contract.StepStart)
	step := f.next()
	require.Equal(t, v1.VerbDeploy, step.Action)
	require.True(t, step.StopFirst)
	f.Begin(step, f.now)
	f.placedOn("h2")
	require.Empty(t, f.Remains, "what was made there is taken over")
	f.LeavesHome()
	ledger := f.LeftHome()
	require.Equal(t, "h1", ledger.Host)
	require.NotNil(t, ledger.Release)
	f.ok()
	require.Equal(t, v1.PhaseRunning, f.Status(f.now).Phase)
	require.Equal(t, StepWait, f.next().Kind, "nothing is left behind")
}

func TestWhatHasItsDataHereStaysUntilTheDeadlineAndStartsAgainAfterwards(t *testing.T) {
	f := pinned(t).drain(time.Hour)
	require.Equal(t, v1.DrainStaying, f.says())
	step := f.next()
	require.Equal(t, StepWait, step.Kind)
	require.Equal(t, f.now.Add(time.Hour), step.Until)
	f.later(time.Hour).act(v1.VerbStop)
	require.Equal(t, v1.PhaseStopping, f.Status(f.now).Phase)
	f.ok()
	st := f.Status(f.now)
	require.Equal(t, v1.PhasePending, st.Phase)
	require.Equal(t, v1.ReasonHostDraining, st.Reason)
	require.Equal(t, v1.DrainStopped, f.says())
	require.Equal(t, StepWait, f.next().Kind)
	f.ask(v1.VerbRestart)
	require.Equal(t, StepWait, f.next().Kind, "nothing starts on a host that is drained")
	f.undrain().act(v1.VerbDeploy)
	require.False(t, f.Doing.Relocate)
}

func TestWithoutADeadlineWhatCantMoveRunsOn(t *testing.T) {
	f := pinned(t).drain(0).later(1000 * time.Hour)
	require.Equal(t, StepWait, f.next().Kind)
	require.Equal(t, v1.PhaseRunning, f.Status(f.now).Phase)
}

func TestAJobMayEndBeforeTheDeadline(t *testing.T) {
	f := job(t, 2, 0).running().drain(time.Hour)
	require.Equal(t, v1.DrainStaying, f.says())
	require.Equal(t, StepWait, f.next().Kind)
	f.later(time.Hour).act(v1.VerbRemove)
	require.True(t, f.Doing.Leave)
	require.Equal(t, "h1", f.Succeeded(contract.StepOut{}, f.now).Host)
	require.Equal(t, string(v1.ReasonInterrupted), f.Job.Attempts[0].Outcome)
	f.act(v1.VerbDeploy).placedOn("h2").ok()
	require.Len(t, f.Job.Attempts, 2)

	f = job(t, 1, 0).running().drain(time.Second).later(time.Second).act(v1.VerbRemove).ok()
	require.Equal(t, v1.PhaseFailed, f.Status(f.now).Phase)
	require.Equal(t, v1.ReasonInterrupted, f.Status(f.now).Reason)
}

func TestWhatDoesNotRunLeavesAtOnce(t *testing.T) {
	f := service(t, "", 0).running().ask(v1.VerbStop).act(v1.VerbStop).ok().drain(0).act(v1.VerbRemove)
	require.Equal(t, v1.PhaseStopped, f.Status(f.now).Phase)
	f.ok()
	require.Nil(t, f.Placement)
	require.Equal(t, v1.PhaseStopped, f.Status(f.now).Phase)
	require.Equal(t, StepWait, f.next().Kind)
	f.ask(v1.VerbStart).act(v1.VerbDeploy)

	f = job(t, 1, 0).running().exits(0)
	f.Job.Unacknowledged = nil
	f.drain(0).act(v1.VerbRemove).ok()
	require.Equal(t, v1.PhaseSucceeded, f.Status(f.now).Phase, "a result stays what it is")
}

func TestAtTheDeadlineWhatFoundNoRoomIsStopped(t *testing.T) {
	f := service(t, "", 0).running().drain(time.Minute).act(v1.VerbDeploy)
	f.fails(v1.ReasonNoCapacity, false, contract.ActivityPlace)
	step := f.next()
	require.Equal(t, f.now.Add(time.Minute), step.Until)
	f.later(time.Minute).act(v1.VerbRemove).ok()
	require.Nil(t, f.Placement)
	f.act(v1.VerbDeploy)
	require.Equal(t, v1.VerbRelocate, f.Doing.Verb)
}

func TestForceTriesToMoveFirst(t *testing.T) {
	f := service(t, "", 0).running().drain(time.Nanosecond).later(time.Second).act(v1.VerbDeploy)
	require.True(t, f.Doing.Relocate)
}

func TestARequestDuringAMoveIsCarriedOutOnTheNextHost(t *testing.T) {
	f := service(t, "", 0).running().drain(0).act(v1.VerbDeploy).placedOn("h2")
	f.ask(v1.VerbStop)
	require.Equal(t, StepCancel, f.next().Kind)
	f.fails(v1.ReasonSuperseded, false, contract.StepStart)
	require.Equal(t, "h1", f.Placement.Host)
	f.act(v1.VerbRemove).ok() // it is to be stopped, and to leave
	require.Nil(t, f.Placement)
	f.settled()
	require.Equal(t, "h2", f.next().Remain)
}

func TestCleaningUpGivesWay(t *testing.T) {
	f := service(t, "", 0).running().drain(0).act(v1.VerbDeploy).placedOn("h2").ok().act(v1.VerbRemove)
	require.Equal(t, StepWait, f.next().Kind)
	f.ask(v1.VerbRestart)
	require.Equal(t, StepCancel, f.next().Kind)
	f.fails(v1.ReasonSuperseded, false, contract.StepRemove)
	require.Len(t, f.Remains, 1)
	f.act(v1.VerbDeploy).placedOn("h2").ok().later(time.Hour).act(v1.VerbRemove)
	require.Equal(t, "h1", f.Doing.Remain)
}

func TestWhatIsLeftBehindOnALostHostBecomesItsDebt(t *testing.T) {
	f := service(t, "", 0).running().drain(0).act(v1.VerbDeploy).placedOn("h2").ok().act(v1.VerbRemove).hostLost(5)
	require.False(t, f.HostLost, "it is on another host")
	require.Equal(t, StepCancel, f.next().Kind)
	f.fails(v1.ReasonSuperseded, false, contract.StepRemove).later(time.Minute)
	step := f.next()
	require.Equal(t, Step{Kind: StepEvict, Remain: "h1"}, step)
	f.Evicted("h1", contract.EvictReply{}, errors.New("no answer"), f.now)
	f.later(evictAgain)
	f.Evicted("h1", contract.EvictReply{}, nil, f.now)
	require.Empty(t, f.Remains)
	require.Equal(t, "h2", f.Placement.Host)
}

func TestAMoveToAHostThatIsLostIsGivenUp(t *testing.T) {
	f := service(t, "", 0).running().drain(0).act(v1.VerbDeploy).placedOn("h2")
	f.HostLostOrBack(contract.HostStatus{Host: "h2", LeaseNo: 1}, true, f.now)
	require.Equal(t, StepCancel, f.next().Kind)
	f.fails(v1.ReasonSuperseded, false, contract.StepStart)
	require.Equal(t, "h1", f.Placement.Host)
	require.False(t, f.HostLost)
	require.Equal(t, Step{Kind: StepAct, Action: v1.VerbDeploy, Verb: v1.VerbRelocate, Relocate: true}, f.next())
}

func TestAHostThatHasLeftOwesTheRemoval(t *testing.T) {
	f := service(t, "", 0).running()
	f.HostDrain(contract.HostDrain{Host: "h1", Seq: 1, Left: true})
	f.act(v1.VerbDeploy).placedOn("h2").ok()
	require.Equal(t, Step{Kind: StepEvict, Remain: "h1"}, f.next())
}

func TestARemoveDuringADrainLeavesNothing(t *testing.T) {
	f := service(t, "", 0).running().drain(0).act(v1.VerbDeploy).placedOn("h2").ok()
	f.ask(v1.VerbRemove).act(v1.VerbRemove)
	require.Empty(t, f.Doing.Remain)
	f.ok()
	require.False(t, f.Removed, "the old host still has something")
	f.act(v1.VerbRemove)
	require.Equal(t, "h1", f.Doing.Remain)
	f.ok().settled()
	require.Equal(t, StepClose, f.next().Kind)
}

func TestBothHostsOfAMoveMayBeDrained(t *testing.T) {
	h2 := contract.HostDrain{Host: "h2", Seq: 3}
	f := service(t, "", 0).running().drain(0).act(v1.VerbDeploy).placedOn("h2")
	f.HostDrain(h2)
	require.Equal(t, v1.DrainMoving, f.says())
	f.HostDrain(contract.HostDrain{Host: "h1", Seq: 9})
	f.ok()
	require.Equal(t, "h2", f.Placement.Host)
	f.act(v1.VerbDeploy)
	require.True(t, f.Doing.Relocate, "it moves on")
	f.placedOn("h3").ok()
	require.Nil(t, f.Drain)
	require.Len(t, f.Remains, 2)

	f = service(t, "", 0).running().drain(0).act(v1.VerbDeploy).placedOn("h2")
	f.HostDrain(h2)
	f.fails(v1.ReasonRuntimeUnavailable, false, contract.StepPrepare)
	require.Equal(t, "h1", f.Placement.Host)
	require.Equal(t, v1.DrainWaiting, f.says(), "h1 is drained still")

	f = service(t, "", 0).running().drain(0).act(v1.VerbDeploy).placedOn("h2")
	f.HostDrain(h2)
	f.HostDrain(contract.HostDrain{Host: "h1", Seq: 9, Cancelled: true})
	f.ok().act(v1.VerbDeploy)
	require.True(t, f.Doing.Relocate, "only h1 may keep it")
}

func TestWhatIsOldNewsOfADrainIsIgnored(t *testing.T) {
	f := service(t, "", 0).running()
	f.HostDrain(contract.HostDrain{Host: "h1", Seq: 7, Cancelled: true})
	f.HostDrain(contract.HostDrain{Host: "h1", Seq: 6})
	require.Nil(t, f.Drain)
	f.HostDrain(contract.HostDrain{Host: "h9", Seq: 8})
	require.Nil(t, f.Drain, "it is not on that host")
}

func TestTheHostIsToldOncePerStanding(t *testing.T) {
	f := pinned(t).drain(0)
	a, news := f.DrainStanding()
	require.True(t, news)
	require.Equal(t, v1.DrainStaying, a.Standing)
	_, news = f.DrainStanding()
	require.False(t, news)
	f.drain(time.Hour)
	_, news = f.DrainStanding()
	require.True(t, news, "the host has asked again")
}

func TestAStrictWorkloadStopsBeforeItMoves(t *testing.T) {
	strictly := func() *fixture {
		f := service(t, "", 0)
		f.Workload.Container.Strict = true
		return f.running()
	}
	f := strictly().drain(0)
	step := f.next()
	require.True(t, step.Relocate)
	require.True(t, step.StopFirst)

	f = strictly()
	f.HostDrain(contract.HostDrain{Host: "h1", Seq: 1, Left: true})
	require.Equal(t, Step{Kind: StepEvict}, f.next(), "its guard stops it; the ledger knows when it must have")
	require.Equal(t, v1.DrainWaiting, f.says())
	f.Evicted("", contract.EvictReply{Wait: time.Minute}, nil, f.now)
	require.Equal(t, Step{Kind: StepWait, Until: f.now.Add(time.Minute)}, f.next())
	f.later(time.Minute)
	require.Equal(t, Step{Kind: StepEvict}, f.next())
	f.Evicted("", contract.EvictReply{}, nil, f.now)
	require.Equal(t, v1.VerbRelocate, f.next().Verb)
}

func TestAMoveToAHostThatIsLostIsGivenUpAndSaysSo(t *testing.T) {
	f := service(t, "", 0).running().drain(0).act(v1.VerbDeploy).placedOn("h2")
	f.HostLostOrBack(contract.HostStatus{Host: "h2", LeaseNo: 1}, true, f.now)
	require.Equal(t, StepCancel, f.next().Kind)
	f.Doing.Cancelled = true
	status := f.Status(f.now)
	require.Equal(t, v1.ReasonHostLost, status.Reason)
	require.Equal(t, "host h2 is offline; the move there is given up; what runs on host h1 runs on", status.Message)
	f.fails(v1.ReasonSuperseded, false, "Start")
	require.Equal(t, "h1", f.Status(f.now).Host)
}
