package workload

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func (f *fixture) hostLost(lease int64) *fixture {
	f.HostLostOrBack(contract.HostStatus{Host: "h1", LeaseNo: lease}, true, f.now)
	return f
}

func (f *fixture) hostBack(lease int64) *fixture {
	f.HostLostOrBack(contract.HostStatus{Host: "h1", LeaseNo: lease}, false, f.now)
	return f
}

const moveAfter = 5 * time.Minute // the default

func TestAServiceMovesWhenItsHostStaysAway(t *testing.T) {
	f := service(t, "", 0).running().hostLost(1)
	step := f.next()
	require.Equal(t, StepWait, step.Kind)
	require.Equal(t, f.now.Add(moveAfter), step.Until)
	require.Equal(t, f.now.Add(moveAfter), *f.Status(f.now).NextTry, "the user sees when")

	f.later(moveAfter)
	require.Equal(t, StepEvict, f.next().Kind, "the old host's ledger is asked first")
	f.Evicting = true
	require.Equal(t, StepWait, f.next().Kind)
	f.Evicted("", contract.EvictReply{}, nil, f.now)
	step = f.next()
	require.Equal(t, StepAct, step.Kind)
	require.Equal(t, v1.VerbRelocate, step.Verb)
	f.Begin(step, f.now)
	f.Placed(contract.PlaceOut{Host: "h2", Instance: "i2"})
	f.ok()
	require.Equal(t, v1.PhaseRunning, f.Status(f.now).Phase)
	require.False(t, f.sees(contract.RunAbsent, nil).Observe(contract.Observation{Host: "h1", Fence: f.Fence, LeaseNo: 9}, f.now),
		"what the old host says counts no more")
}

func TestAJobGoesOnThoughItsLostHostNeverDroppedTheLastAttempt(t *testing.T) {
	for name, asked := range map[string]bool{"the host was asked": true, "the host could not be asked": false} {
		t.Run(name, func(t *testing.T) {
			f := job(t, 2, 0).running().exits(1)
			first := *f.Job.Unacknowledged
			if asked {
				f.Acknowledge()
			}
			f.hostLost(1).later(moveAfter)
			require.Equal(t, StepEvict, f.next().Kind)
			f.Evicted("", contract.EvictReply{}, nil, f.now)
			require.False(t, f.Busy())
			f.act(v1.VerbDeploy)
			f.Placed(contract.PlaceOut{Host: "h2", Instance: "i2"})
			f.ok()
			f.Observe(contract.Observation{
				Host: "h2", Fence: f.Fence, LeaseNo: 1, Seq: 1, State: contract.RunExited, Exit: &contract.Exit{Code: 1, Outcome: v1.ReasonExited},
			}, f.now)
			require.NotEqual(t, first, *f.Job.Unacknowledged)
			f.Acknowledged(first, nil, f.now)
			require.NotNil(t, f.Job.Unacknowledged, "what the old host answers after all says nothing of the new one")
			require.Equal(t, StepAcknowledge, f.next().Kind)
		})
	}
}

func TestNothingMovesWhenTheHostComesBackInTime(t *testing.T) {
	f := service(t, "", 0).running().hostLost(1).later(moveAfter - time.Second).hostBack(2).later(time.Hour)
	require.Equal(t, StepWait, f.next().Kind)
	require.Equal(t, v1.PhaseRunning, f.Status(f.now).Phase)
	f.hostLost(1)
	require.Equal(t, v1.PhaseRunning, f.Status(f.now).Phase, "news of an earlier lease")
}

func TestALateTimerStartsTheWaitAnew(t *testing.T) {
	f := service(t, "", 0).running().hostLost(1).later(moveAfter + lateness + time.Second)
	require.Equal(t, StepWaitAnew, f.next().Kind, "the control plane was away: hosts had no chance to say that they are well")
	f.WaitAnew(f.now)
	require.Equal(t, f.now.Add(moveAfter), f.next().Until)
}

// A host that was lost may have been well for long when the control plane is back: its agent can't say so before.
func TestNothingMovesBeforeAGraceWithTheControlPlane(t *testing.T) {
	const grace = 45 * time.Second
	lost := func(f *fixture) *fixture {
		f.HostLostOrBack(contract.HostStatus{Host: "h1", LeaseNo: 1, Grace: grace}, true, f.now)
		return f
	}
	begin := func(f *fixture) *fixture {
		require.Equal(t, StepGrace, f.next().Kind)
		f.BeginGrace(f.now)
		return f
	}
	t.Run("it is there all the time", func(t *testing.T) {
		f := lost(service(t, "", 0).running())
		due := f.now.Add(moveAfter)
		require.Equal(t, Step{Kind: StepWait, Until: due.Add(-grace)}, f.next())
		begin(f.later(moveAfter - grace))
		require.Equal(t, Step{Kind: StepWait, Until: due}, f.next())
		require.Equal(t, due, *f.Status(f.now).NextTry)
		require.Equal(t, StepEvict, f.later(grace).next().Kind)
	})
	t.Run("it is back just before the move", func(t *testing.T) {
		f := lost(service(t, "", 0).running()).later(moveAfter - time.Second)
		require.Equal(t, StepWaitAnew, f.next().Kind)
		f.WaitAnew(f.now)
		require.Equal(t, f.now.Add(moveAfter-grace), f.next().Until)
	})
	t.Run("it is away at the move", func(t *testing.T) {
		f := begin(lost(service(t, "", 0).running()).later(moveAfter - grace))
		f.later(grace + lateness + time.Second)
		require.Equal(t, StepWaitAnew, f.next().Kind)
	})
	t.Run("an action is under way", func(t *testing.T) {
		f := lost(service(t, "", 0).act(v1.VerbDeploy).placed())
		require.Equal(t, f.now.Add(moveAfter-grace), f.next().Until)
		begin(f.later(moveAfter - grace))
		require.Equal(t, f.now.Add(grace), f.next().Until)
		require.Equal(t, StepCancel, f.later(grace).next().Kind)
	})
	t.Run("the whole wait is a grace", func(t *testing.T) {
		f := service(t, "", 0).running()
		f.Workload.Container.MoveAfter = v1.Duration(grace)
		begin(lost(f))
		require.Equal(t, f.now.Add(grace), f.next().Until)
	})
	t.Run("a later loss begins anew", func(t *testing.T) {
		f := begin(lost(service(t, "", 0).running()).later(moveAfter - grace)).hostBack(2)
		f.HostLostOrBack(contract.HostStatus{Host: "h1", LeaseNo: 3, Grace: grace}, true, f.now)
		require.Equal(t, f.now.Add(moveAfter-grace), f.next().Until)
	})
}

func TestAHostThatIsBackRefusesTheEviction(t *testing.T) {
	f := service(t, "", 0).running().hostLost(1).later(moveAfter)
	f.Evicted("", contract.EvictReply{Refused: "host h1 is Online"}, nil, f.now)
	require.NotNil(t, f.Placement)
	require.Equal(t, StepWait, f.next().Kind)
	f.hostBack(2)
	require.Equal(t, v1.PhaseRunning, f.Status(f.now).Phase)
	require.Equal(t, StepWait, f.next().Kind)
}

func TestWhatHasDataOnItsHostWaits(t *testing.T) {
	f := service(t, "", 0)
	f.Workload.Container.Volumes = []v1.Mount{{Name: "data", Target: "/data"}}
	f.running().hostLost(1).later(24 * time.Hour)
	require.Equal(t, StepWait, f.next().Kind)
	require.Equal(t, v1.PhaseLost, f.Status(f.now).Phase)
}

func TestADeployOnALostHostIsGivenUpForAMove(t *testing.T) {
	f := service(t, "", 0).act(v1.VerbDeploy).placed().hostLost(1)
	require.Equal(t, StepWait, f.next().Kind)
	f.later(moveAfter)
	require.Equal(t, StepCancel, f.next().Kind)
	f.Doing.Cancelled = true
	f.fails(v1.ReasonSuperseded, false, "")
	require.Equal(t, StepEvict, f.next().Kind)
}

func TestAJobsAttemptOnALostHostCounts(t *testing.T) {
	f := job(t, 1, 0).running().hostLost(1).later(moveAfter)
	f.Evicted("", contract.EvictReply{}, nil, f.now)
	require.Equal(t, v1.PhaseFailed, f.Status(f.now).Phase)
	require.Equal(t, string(v1.ReasonHostLost), f.Job.Attempts[0].Outcome)

	f = job(t, 2, 0).running().hostLost(1).later(moveAfter)
	f.Evicted("", contract.EvictReply{}, nil, f.now)
	require.Equal(t, 2, f.act(v1.VerbDeploy).Doing.Attempt)
}

func force(f *fixture) *fixture {
	_, err := f.Ask(v1.VerbRemove, contract.VerbRequest{Force: true})
	require.NoError(f.t, err)
	return f
}

func TestAForcedRemoveFreesTheNameOfALostHost(t *testing.T) {
	f := force(service(t, "", 0).running().hostLost(1))
	require.Equal(t, StepEvict, f.next().Kind)
	f.Evicted("", contract.EvictReply{}, nil, f.now)
	require.Equal(t, StepClose, f.next().Kind)
}

func TestARemoveThatWaitsCanStillBeForced(t *testing.T) {
	f := service(t, "", 0).running().hostLost(1).ask(v1.VerbRemove).act(v1.VerbRemove)
	require.Equal(t, StepWait, f.next().Kind)
	force(f)
	require.Equal(t, StepCancel, f.next().Kind)
	f.Doing.Cancelled = true
	f.fails(v1.ReasonSuperseded, false, "")
	require.Equal(t, StepEvict, f.next().Kind)
}

func TestAForcedRemoveOfAHostThatIsThereIsAnOrdinaryOne(t *testing.T) {
	f := force(service(t, "", 0).running())
	require.Equal(t, StepEvict, f.next().Kind)
	f.Evicted("", contract.EvictReply{Refused: "host h1 is Online"}, nil, f.now)
	f.act(v1.VerbRemove).ok()
	require.Equal(t, StepClose, f.next().Kind)
}

func TestAnEvictionThatNobodyAnsweredIsAskedAgain(t *testing.T) {
	f := force(service(t, "", 0).running().hostLost(1))
	f.Evicted("", contract.EvictReply{}, errors.New("no answer"), f.now)
	f.later(evictAgain)
	require.Equal(t, StepEvict, f.next().Kind)
}

func TestAForgottenHostSaysWhatHappened(t *testing.T) {
	f := service(t, "", 0).running()
	f.HostLostOrBack(contract.HostStatus{Host: "h1", LeaseNo: 1, Forgotten: true}, true, f.now)
	st := f.Status(f.now)
	require.Equal(t, v1.PhaseLost, st.Phase)
	require.Equal(t, v1.ReasonHostLost, st.Reason)
	require.Contains(t, st.Message, "h1 was forgotten")
	require.Contains(t, st.Advice, "berth adopt h1")
	require.Contains(t, st.Advice, "--force web")
	f.hostBack(2)
	require.Empty(t, f.Status(f.now).Advice, "it was adopted")
}

func TestALateStepIsACondition(t *testing.T) {
	f := service(t, "", 0).running()
	f.CameLate(contract.LateStep{Workload: "web", Host: "h2", Fence: 3, Step: contract.StepStart, Message: "fence 3 is stale"}, f.now)
	require.Len(t, f.Conditions, 1)
	require.Equal(t, v1.ReasonStaleFence, f.Conditions[0].Reason)
	require.Contains(t, f.Conditions[0].Message, "h2 refused a late Start")
	f.Begin(Step{Kind: StepAct, Action: v1.VerbDeploy, Verb: v1.VerbDeploy}, f.now)
	f.CameLate(contract.LateStep{Workload: "web", Host: "h1", Fence: f.Doing.Fence, Step: contract.StepStart}, f.now)
	require.Len(t, f.Conditions, 1, "the open action's own step says so itself")
}

func TestALaterLossIsWaitedForAnew(t *testing.T) {
	f := service(t, "", 0).running().hostLost(1).later(moveAfter - time.Second).hostLost(2)
	require.Equal(t, f.now.Add(moveAfter), f.next().Until, "the host was there in between, though nobody said so")
	f.later(time.Second).hostLost(2)
	require.Equal(t, f.now.Add(moveAfter-time.Second), f.next().Until, "the same loss, told twice")
}

func TestAHostThatMayStillRunItIsAskedAgainLater(t *testing.T) {
	f := service(t, "", 0).running().hostLost(1).later(moveAfter)
	f.Evicted("", contract.EvictReply{Wait: 20 * time.Second}, nil, f.now)
	require.NotNil(t, f.Placement)
	step := f.next()
	require.Equal(t, StepWait, step.Kind)
	require.Equal(t, f.now.Add(20*time.Second), step.Until)
	require.Equal(t, StepEvict, f.later(20*time.Second).next().Kind)

	f = force(service(t, "", 0).running().hostLost(1))
	f.Evicted("", contract.EvictReply{Wait: 20 * time.Second}, nil, f.now)
	step = f.next()
	require.Equal(t, StepWait, step.Kind, "a forced remove waits as well, and begins no ordinary one")
	require.Equal(t, f.now.Add(20*time.Second), step.Until)
	require.Equal(t, StepEvict, f.later(20*time.Second).next().Kind)
	f.hostBack(2)
	f.Force = false
	require.Equal(t, StepAct, f.next().Kind)
}

func TestAStrictWorkloadIsRefusedWhereTheGraceIsTooShort(t *testing.T) {
	f := service(t, "", 0)
	w := *f.Workload.Clone()
	w.Container.Strict = true
	_, err := f.Apply(contract.ApplyRequest{RequestID: "ok", Workload: w}, f.now)
	require.NoError(t, err)
	w.Container.StopGracePeriod = v1.Duration(time.Minute)
	_, err = f.Apply(contract.ApplyRequest{RequestID: "too long", Workload: w}, f.now)
	require.Equal(t, v1.ReasonInvalid, contract.ReasonOf(err))
	require.ErrorContains(t, err, "spec.stopGracePeriod")
	require.EqualValues(t, 2, f.Generation)
}
