package workload

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

var t0 = time.UnixMilli(1_700_000_000_000)

// fixture builds a state by the messages that lead there, so that no test starts from a state that can't be.
type fixture struct {
	*State
	t   require.TestingT
	now time.Time
}

func service(t require.TestingT, policy v1.RestartMode, retries int) *fixture {
	w := v1.Workload{
		APIVersion: v1.APIVersion, Kind: v1.KindContainer, Metadata: v1.Metadata{Name: "web"},
		Container: &v1.ContainerSpec{Image: "img"},
	}
	if policy != "" {
		w.Container.Restart = &v1.RestartPolicy{Policy: policy, MaxRetries: retries}
	}
	return start(t, w)
}

func job(t require.TestingT, attempts int, deadline time.Duration) *fixture {
	return start(t, v1.Workload{
		APIVersion: v1.APIVersion, Kind: v1.KindContainer, Metadata: v1.Metadata{Name: "batch"},
		Container: &v1.ContainerSpec{Image: "img", Common: v1.Common{
			Type: v1.TypeJob, Job: &v1.JobPolicy{MaxAttempts: attempts, Deadline: v1.Duration(deadline)},
		}},
	})
}

func start(t require.TestingT, w v1.Workload) *fixture {
	f := &fixture{State: &State{Timings: contract.DefaultTimings()}, t: t, now: t0}
	_, err := f.Apply(contract.ApplyRequest{RequestID: "first", Workload: w}, f.now)
	require.NoError(t, err)
	return f
}

func (f *fixture) next() Step { return f.decide(f.now) }

// act expects an action and begins it.
func (f *fixture) act(action v1.Verb) *fixture {
	s := f.next()
	require.Equal(f.t, StepAct, s.Kind, "want %s, have %+v", action, s)
	require.Equal(f.t, action, s.Action)
	f.Begin(s, f.now)
	return f
}

func (f *fixture) placed() *fixture {
	f.Placed(contract.PlaceOut{Host: "h1", Instance: "i1"})
	return f
}

func (f *fixture) ok() *fixture {
	f.Succeeded(contract.StepOut{}, f.now)
	return f
}

func (f *fixture) fails(reason v1.Reason, permanent bool, step contract.Step) *fixture {
	f.Failed(&contract.Error{Reason: reason, Message: "m", Permanent: permanent, Step: string(step)}, f.now)
	return f
}

func (f *fixture) running() *fixture { return f.act(v1.VerbDeploy).placed().ok() }

func (f *fixture) ask(verb v1.Verb) *fixture {
	_, err := f.Ask(verb, contract.VerbRequest{})
	require.NoError(f.t, err)
	return f
}

func (f *fixture) sees(state contract.RunState, exit *contract.Exit) *fixture {
	f.Observe(contract.Observation{
		Host: "h1", Fence: f.Fence, LeaseNo: 1, Seq: f.Seen.Seq + 1, State: state, Exit: exit, Restarts: f.Seen.Restarts,
	}, f.now)
	return f
}

func (f *fixture) exits(code int) *fixture {
	return f.sees(contract.RunExited, &contract.Exit{Code: code, Outcome: v1.ReasonExited, At: f.now})
}

func (f *fixture) later(d time.Duration) *fixture {
	f.now = f.now.Add(d)
	return f
}

func (f *fixture) settled() *fixture {
	for f.next().Kind == StepNote {
		f.Note(f.next())
	}
	return f
}

func TestDecide(t *testing.T) {
	cases := map[string]struct {
		state  func(t *testing.T) *fixture
		kind   StepKind
		action v1.Verb
		phase  v1.Phase
	}{
		"a new workload is deployed": {
			func(t *testing.T) *fixture { return service(t, "", 0) }, StepAct, v1.VerbDeploy, v1.PhasePending,
		},
		"a running one waits": {
			func(t *testing.T) *fixture { return service(t, "", 0).running() }, StepWait, "", v1.PhaseRunning,
		},
		"a stop supersedes a deploy": {
			func(t *testing.T) *fixture { return service(t, "", 0).act(v1.VerbDeploy).ask(v1.VerbStop) }, StepCancel, "", v1.PhaseDeploying,
		},
		"a stop follows the cancelled deploy": {
			func(t *testing.T) *fixture {
				return service(t, "", 0).act(v1.VerbDeploy).placed().ask(v1.VerbStop).fails(v1.ReasonSuperseded, false, contract.StepStart)
			}, StepAct, v1.VerbStop, v1.PhaseStopping,
		},
		"a stop of what was never placed is only noted": {
			func(t *testing.T) *fixture { return service(t, "", 0).ask(v1.VerbStop) }, StepNote, "", v1.PhaseStopping,
		},
		"a stopped one waits": {
			func(t *testing.T) *fixture { return service(t, "", 0).running().ask(v1.VerbStop).act(v1.VerbStop).ok() },
			StepWait, "", v1.PhaseStopped,
		},
		"a start follows a stop": {
			func(t *testing.T) *fixture {
				return service(t, "", 0).running().ask(v1.VerbStop).act(v1.VerbStop).ok().ask(v1.VerbStart)
			}, StepAct, v1.VerbDeploy, v1.PhasePending,
		},
		"a restart deploys again": {
			func(t *testing.T) *fixture { return service(t, "", 0).running().ask(v1.VerbRestart) }, StepAct, v1.VerbDeploy, v1.PhaseRunning,
		},
		"a start of a running one changes nothing": {
			func(t *testing.T) *fixture { return service(t, "", 0).running().ask(v1.VerbStart) }, StepWait, "", v1.PhaseRunning,
		},
		"a remove supersedes a stop": {
			func(t *testing.T) *fixture {
				return service(t, "", 0).running().ask(v1.VerbStop).act(v1.VerbStop).ask(v1.VerbRemove)
			}, StepCancel, "", v1.PhaseRemoving,
		},
		"nothing supersedes a remove": {
			func(t *testing.T) *fixture { return service(t, "", 0).running().ask(v1.VerbRemove).act(v1.VerbRemove) },
			StepWait, "", v1.PhaseRemoving,
		},
		"a removed one closes": {
			func(t *testing.T) *fixture {
				return service(t, "", 0).running().ask(v1.VerbRemove).act(v1.VerbRemove).ok()
			},
			StepClose, "", v1.PhaseRemoved,
		},
		"a remove of what was never placed needs no action": {
			func(t *testing.T) *fixture { return service(t, "", 0).ask(v1.VerbRemove).settled() }, StepClose, "", v1.PhaseRemoved,
		},
		"a retryable failure waits for its next try": {
			func(t *testing.T) *fixture {
				return service(t, "", 0).act(v1.VerbDeploy).fails(v1.ReasonNoCapacity, false, contract.ActivityPlace)
			}, StepWait, "", v1.PhasePending,
		},
		"and is tried again then": {
			func(t *testing.T) *fixture {
				return service(t, "", 0).act(v1.VerbDeploy).fails(v1.ReasonFetchStalled, false, contract.StepPrepare).later(2 * time.Second)
			}, StepAct, v1.VerbDeploy, v1.PhasePending,
		},
		"a permanent failure waits for ever": {
			func(t *testing.T) *fixture {
				return service(t, "", 0).act(v1.VerbDeploy).placed().fails(v1.ReasonImageNotFound, true, contract.StepPrepare).later(time.Hour)
			}, StepWait, "", v1.PhaseFailed,
		},
		"until it is asked to retry": {
			func(t *testing.T) *fixture {
				return service(t, "", 0).act(v1.VerbDeploy).placed().fails(v1.ReasonImageNotFound, true, contract.StepPrepare).ask(v1.VerbRetry)
			}, StepAct, v1.VerbDeploy, v1.PhasePending,
		},
		"an absent one is made again": {
			func(t *testing.T) *fixture {
				return service(t, "", 0).running().later(time.Hour).sees(contract.RunAbsent, nil)
			}, StepAct, v1.VerbDeploy, v1.PhaseDegraded,
		},
		"but not at once if it did not last": {
			func(t *testing.T) *fixture { return service(t, "", 0).running().sees(contract.RunAbsent, nil) }, StepWait, "", v1.PhaseDegraded,
		},
		"an unhealthy one is shown, and left alone": {
			func(t *testing.T) *fixture { return service(t, "", 0).running().sees(contract.RunUnhealthy, nil) }, StepWait, "", v1.PhaseDegraded,
		},
		"an exit that the host restarts is degraded": {
			func(t *testing.T) *fixture { return service(t, v1.RestartAlways, 0).running().exits(1) }, StepWait, "", v1.PhaseDegraded,
		},
		"an exit without restart ends a service": {
			func(t *testing.T) *fixture { return service(t, v1.RestartNo, 0).running().exits(1).settled() }, StepWait, "", v1.PhaseFailed,
		},
		"an exit with code zero without restart is a stop": {
			func(t *testing.T) *fixture { return service(t, v1.RestartNo, 0).running().exits(0).settled() }, StepWait, "", v1.PhaseStopped,
		},
		"on-failure ends a service once its retries are used up": {
			func(t *testing.T) *fixture {
				f := service(t, v1.RestartOnFailure, 2).running()
				f.Seen.Restarts = 2
				return f.exits(3).settled()
			}, StepWait, "", v1.PhaseFailed,
		},
		"a lost host is shown, and nothing moves": {
			func(t *testing.T) *fixture {
				f := service(t, "", 0).running()
				f.HostLostOrBack(contract.HostStatus{Host: "h1", LeaseNo: 1}, true, f.now)
				return f
			}, StepWait, "", v1.PhaseLost,
		},
		"a job's attempt runs": {
			func(t *testing.T) *fixture { return job(t, 2, 0).running() }, StepWait, "", v1.PhaseRunning,
		},
		"its end is acknowledged first": {
			func(t *testing.T) *fixture { return job(t, 2, 0).running().exits(1) }, StepAcknowledge, "", v1.PhasePending,
		},
		"then the next attempt follows, after its backoff": {
			func(t *testing.T) *fixture {
				f := job(t, 2, 0).running().exits(1)
				f.Acknowledged(*f.Job.Unacknowledged, nil, f.now)
				return f.later(2 * time.Second)
			}, StepAct, v1.VerbDeploy, v1.PhasePending,
		},
		"the last failed attempt fails the job": {
			func(t *testing.T) *fixture {
				f := job(t, 1, 0).running().exits(1)
				f.Acknowledged(*f.Job.Unacknowledged, nil, f.now)
				return f
			}, StepWait, "", v1.PhaseFailed,
		},
		"code zero is a success": {
			func(t *testing.T) *fixture {
				f := job(t, 3, 0).running().exits(0)
				f.Acknowledged(*f.Job.Unacknowledged, nil, f.now)
				return f
			}, StepWait, "", v1.PhaseSucceeded,
		},
		"an attempt that is gone counts": {
			func(t *testing.T) *fixture {
				f := job(t, 1, 0).running().sees(contract.RunAbsent, nil)
				f.Acknowledged(*f.Job.Unacknowledged, nil, f.now)
				return f
			}, StepWait, "", v1.PhaseFailed,
		},
		"a job past its deadline fails, and is stopped": {
			func(t *testing.T) *fixture { return job(t, 1, time.Minute).running().later(time.Minute).settled() },
			StepAct, v1.VerbStop, v1.PhaseFailed,
		},
		"what is left of it is dropped": {
			func(t *testing.T) *fixture {
				return job(t, 1, time.Minute).running().later(time.Minute).settled().act(v1.VerbStop).ok()
			}, StepAcknowledge, "", v1.PhaseFailed,
		},
		"and then it waits": {
			func(t *testing.T) *fixture {
				f := job(t, 1, time.Minute).running().later(time.Minute).settled().act(v1.VerbStop).ok()
				f.Acknowledged(*f.Job.Unacknowledged, nil, f.now)
				return f
			}, StepWait, "", v1.PhaseFailed,
		},
		"a retry hurries a remove that failed": {
			func(t *testing.T) *fixture {
				return service(t, "", 0).running().ask(v1.VerbRemove).act(v1.VerbRemove).
					fails(v1.ReasonRuntimeUnavailable, false, contract.StepRemove).ask(v1.VerbRetry)
			}, StepAct, v1.VerbRemove, v1.PhaseRemoving,
		},
		"a deadline during a deploy cancels it": {
			func(t *testing.T) *fixture {
				f := job(t, 2, time.Minute).running().exits(1)
				f.Acknowledged(*f.Job.Unacknowledged, nil, f.now)
				return f.later(2 * time.Second).act(v1.VerbDeploy).later(time.Minute)
			}, StepCancel, "", v1.PhaseDeploying,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := c.state(t)
			step := f.next()
			require.Equal(t, c.kind, step.Kind, "%+v", step)
			if c.action != "" {
				require.Equal(t, c.action, step.Action)
			}
			require.Equal(t, c.phase, f.Status(f.now).Phase)
		})
	}
}

func TestFailureBeforeAnyMutationGivesTheHostBack(t *testing.T) {
	f := service(t, "", 0).act(v1.VerbDeploy).placed()
	l := f.Failed(&contract.Error{Reason: v1.ReasonImageNotFound, Permanent: true, Step: string(contract.StepPrepare)}, f.now)
	require.NotNil(t, l.Release)
	require.Nil(t, f.Placement)
}

func TestADeploySettlesWhatTheLedgerHoldsBeyondIt(t *testing.T) {
	for _, exact := range []bool{true, false} {
		f := service(t, "", 0).act(v1.VerbDeploy)
		f.Placed(contract.PlaceOut{Host: "h1", Instance: "i1", Exact: exact})
		l := f.Succeeded(contract.StepOut{}, f.now)
		require.Equal(t, exact, l.Settle == nil)
		require.Nil(t, l.Release)
		require.NotNil(t, f.ask(v1.VerbStop).act(v1.VerbStop).Succeeded(contract.StepOut{}, f.now).Settle, "a stop gives back")
	}
}

func TestFailureAfterAMutationKeepsTheHost(t *testing.T) {
	f := service(t, "", 0).act(v1.VerbDeploy).placed()
	l := f.Failed(&contract.Error{Reason: v1.ReasonUnhealthy, Step: string(contract.StepAwaitReady)}, f.now)
	require.NotNil(t, l.Settle)
	require.Equal(t, "h1", f.Placement.Host)
	require.Equal(t, StepWait, f.next().Kind)
}

func TestFailedUpdateLeavesTheOldGenerationRunning(t *testing.T) {
	f := service(t, "", 0).running()
	w := f.Workload
	spec := *w.Container
	spec.Image = "other"
	w.Container = &spec
	_, err := f.Apply(contract.ApplyRequest{Workload: w}, f.now)
	require.NoError(t, err)
	f.act(v1.VerbDeploy).fails(v1.ReasonImageNotFound, true, contract.StepPrepare)
	st := f.Status(f.now)
	require.Equal(t, v1.PhaseDegraded, st.Phase)
	require.EqualValues(t, 2, st.Generation, "the new generation stays wanted")
	require.EqualValues(t, 1, st.RunningGeneration)
}

func TestStaleFenceIsOvertakenAtOnce(t *testing.T) {
	f := service(t, "", 0).act(v1.VerbDeploy).placed()
	f.Failed(&contract.Error{Reason: v1.ReasonStaleFence, Permanent: true, Seen: f.Fence + 40, Step: string(contract.StepStart)}, f.now)
	seen := f.Fence
	f.act(v1.VerbDeploy)
	require.Equal(t, seen+1, f.Doing.Fence)
}

func TestRepeatedRequestGetsTheFirstAnswer(t *testing.T) {
	f := service(t, "", 0)
	first, _ := f.answered("first")
	again, err := f.Apply(contract.ApplyRequest{RequestID: "first", Workload: f.Workload}, f.now)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, contract.ChangedCreated, again.Changed)
}

func TestApplyWhileRemovingIsRefused(t *testing.T) {
	f := service(t, "", 0).running().ask(v1.VerbRemove)
	_, err := f.Apply(contract.ApplyRequest{Workload: f.Workload}, f.now)
	require.Equal(t, v1.ReasonAlreadyRemoving, contract.ReasonOf(err))
}

func TestObservationsOfThePastAreDropped(t *testing.T) {
	f := service(t, "", 0).running()
	f.sees(contract.RunRunning, nil)
	for name, o := range map[string]contract.Observation{
		"lower fence":    {Host: "h1", Fence: f.Fence - 1, LeaseNo: 9, Seq: 9, State: contract.RunAbsent},
		"lower lease":    {Host: "h1", Fence: f.Fence, LeaseNo: 0, Seq: 9, State: contract.RunAbsent},
		"lower sequence": {Host: "h1", Fence: f.Fence, LeaseNo: 1, Seq: f.Seen.Seq, State: contract.RunAbsent},
		"other host":     {Host: "h2", Fence: f.Fence, LeaseNo: 9, Seq: 9, State: contract.RunAbsent},
		"future fence":   {Host: "h1", Fence: f.Fence + 1, LeaseNo: 9, Seq: 9, State: contract.RunAbsent},
	} {
		require.False(t, f.Observe(o, f.now), name)
	}
	require.Equal(t, v1.PhaseRunning, f.Status(f.now).Phase)
}

func TestBackoffGrowsAndIsBounded(t *testing.T) {
	timings := contract.DefaultTimings()
	require.GreaterOrEqual(t, backoff(timings, "a", 1), timings.BackoffMin)
	require.Less(t, backoff(timings, "a", 1), 2*timings.BackoffMin)
	last := backoff(timings, "a", 1000)
	require.GreaterOrEqual(t, last, timings.BackoffMax)
	require.LessOrEqual(t, last, timings.BackoffMax*5/4)
}

// Whatever users ask and hosts answer: fences only grow, the status fits its memo, and once nothing is asked any more and
// everything succeeds, what was wanted last holds.
func TestWhatIsWantedIsReached(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := service(t, "", 0)
		var fence int64
		drive := func(succeed bool) {
			s := f.next()
			switch s.Kind {
			case StepAct:
				f.Begin(s, f.now)
				require.Greater(t, f.Doing.Fence, fence)
				fence = f.Doing.Fence
				if s.Action == v1.VerbDeploy {
					f.placed()
				}
			case StepNote:
				f.Note(s)
			case StepCancel:
				f.Doing.Cancelled = true
				f.fails(v1.ReasonSuperseded, false, "")
			case StepWait:
				switch {
				case f.Doing != nil && succeed:
					f.ok()
				case f.Doing != nil:
					f.fails(v1.ReasonRuntimeUnavailable, false, contract.StepStart)
				case !s.Until.IsZero():
					f.now = s.Until
				}
			case StepAcknowledge, StepClose:
			}
		}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				verb := rapid.SampledFrom([]v1.Verb{v1.VerbStart, v1.VerbStop, v1.VerbRestart, v1.VerbRetry}).Draw(t, "verb")
				f.ask(verb)
			case 1:
				if f.Deployed != nil {
					f.sees(rapid.SampledFrom([]contract.RunState{contract.RunRunning, contract.RunAbsent}).Draw(t, "seen"), nil)
				}
			default:
				drive(rapid.Bool().Draw(t, "succeed"))
			}
			require.Less(t, statusSize(t, f), 2048)
		}
		for range 20 {
			drive(true)
		}
		require.Nil(t, f.Doing)
		if f.Wanted == WantStopped {
			require.Equal(t, v1.PhaseStopped, f.Status(f.now).Phase)
		} else {
			require.NotNil(t, f.Deployed)
		}
		f.ask(v1.VerbRemove)
		for range 5 {
			drive(true)
		}
		require.Equal(t, StepClose, f.next().Kind)
	})
}

// A host tells attempts of a generation apart by their numbers: one that was used is "started, and gone" there.
func TestAnotherSeriesOfAJobGoesOnNumbering(t *testing.T) {
	f := job(t, 2, 0).running().exits(1).later(time.Minute)
	f.Job.Unacknowledged = nil
	require.Equal(t, 2, f.next().Attempt)
	f.running().exits(1)
	f.Job.Unacknowledged = nil
	require.Equal(t, v1.PhaseFailed, f.Status(f.now).Phase)

	f.ask(v1.VerbRestart)
	require.Equal(t, 3, f.next().Attempt)
	f.running().exits(1).later(time.Minute)
	f.Job.Unacknowledged = nil
	require.Equal(t, 4, f.next().Attempt, "the new series has two attempts as well")
	require.Len(t, f.Job.Attempts, 3)
}

// A deploy may fail for good in the moment in which something else is asked for: that must not hold up the other.
func TestAFailureOfWhatIsNoLongerWantedIsForgotten(t *testing.T) {
	f := service(t, v1.RestartAlways, 0).act(v1.VerbDeploy).placed().ask(v1.VerbRemove)
	f.fails(v1.ReasonImageNotFound, true, contract.StepPrepare)
	require.Nil(t, f.Failure)
	require.NotEqual(t, StepWait, f.next().Kind)
}
