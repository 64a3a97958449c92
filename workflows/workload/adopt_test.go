package workload

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func (f *fixture) unrecorded(generation, fence int64) *fixture {
	f.Observe(contract.Observation{
		Host: "h1", LeaseNo: 5, State: contract.RunUnobservable, Unrecorded: &contract.Unrecorded{Generation: generation, Fence: fence},
	}, f.now)
	return f
}

func TestARecordIsGivenAgainOnlyIfNothingHasBeenDoneSince(t *testing.T) {
	strict := func(f *fixture) { f.Workload.Container.Strict = true }
	for name, tc := range map[string]struct {
		state func(t *testing.T) *fixture
		mark  func(f *fixture) (generation, fence int64)
		adopt bool
		says  string
	}{
		"as deployed": {
			func(t *testing.T) *fixture { return service(t, "", 0).running() }, nil, true, recordComesBack,
		},
		"a container that later actions kept": {
			func(t *testing.T) *fixture { return service(t, "", 0).running().ask(v1.VerbRestart).running() },
			func(f *fixture) (int64, int64) { return f.Generation, f.Fence - 1 }, true, recordComesBack,
		},
		"of an earlier generation": {
			func(t *testing.T) *fixture { return service(t, "", 0).running() },
			func(f *fixture) (int64, int64) { return f.Generation - 1, f.Fence }, false, recordStaysAway,
		},
		"of a later fence": {
			func(t *testing.T) *fixture { return service(t, "", 0).running() },
			func(f *fixture) (int64, int64) { return f.Generation, f.Fence + 1 }, false, recordStaysAway,
		},
		"of an earlier attempt of a job": {
			func(t *testing.T) *fixture { return job(t, 3, 0).running() },
			func(f *fixture) (int64, int64) { return f.Generation, f.Fence - 1 }, false, recordStaysAway,
		},
		"the attempt of a job": {
			func(t *testing.T) *fixture { return job(t, 3, 0).running() }, nil, true, recordComesBack,
		},
		"what is strict": {
			func(t *testing.T) *fixture { f := service(t, "", 0).running(); strict(f); return f }, nil, false, recordStaysAway,
		},
		"during an action":     {func(t *testing.T) *fixture { return service(t, "", 0).act(v1.VerbDeploy).placed() }, nil, false, ""},
		"what was stopped":     {func(t *testing.T) *fixture { return service(t, "", 0).running().ask(v1.VerbStop).act(v1.VerbStop).ok() }, nil, false, ""},
		"what was never there": {func(t *testing.T) *fixture { return service(t, "", 0) }, nil, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := tc.state(t)
			generation, fence := f.Generation, f.Fence
			if tc.mark != nil {
				generation, fence = tc.mark(f)
			}
			f.unrecorded(generation, fence)
			require.Equal(t, tc.adopt, f.next().Kind == StepAdopt)
			conditions := f.Status(f.now).Conditions
			if tc.says == "" {
				require.Empty(t, conditions)
				return
			}
			require.Equal(t, []v1.Condition{{Reason: v1.ReasonRecordMissing, Message: tc.says, At: f.now}}, conditions)
			require.NotEqual(t, StepAct, f.next().Kind, "nothing is made again")
		})
	}
}

func TestAdopting(t *testing.T) {
	f := service(t, "", 0).running()
	f.unrecorded(f.Generation, f.Fence)
	f.HostLost, f.LostAt = true, f.now
	require.Equal(t, StepWait, f.next().Kind, "its host is not there")
	f.HostLost = false
	require.Equal(t, StepAdopt, f.next().Kind)
	in := f.Adopt()
	require.Equal(t, f.Deployed.Fence, in.Ref.Fence)
	require.True(t, f.Busy())
	require.Equal(t, StepWait, f.next().Kind, "it is asked once")
	f.Adopted(errors.New("nothing runs"))
	require.False(t, f.Busy())
	require.Equal(t, StepWait, f.next().Kind)
	require.Contains(t, f.Status(f.now).Conditions[0].Message, "berth restart")

	f.unrecorded(f.Generation, f.Fence) // under its next lease
	require.Equal(t, StepAdopt, f.next().Kind)
	f.Adopt()
	f.Adopted(nil)
	f.sees(contract.RunRunning, nil)
	require.Empty(t, f.Status(f.now).Conditions)

	f.unrecorded(f.Generation, f.Fence).ask(v1.VerbRestart).act(v1.VerbDeploy)
	require.Nil(t, f.Adopting, "the restart writes it")
}

// What waits for its next start when its record is lost is not started again, and must not say that it is.
func TestARecordThatIsLostBetweenTwoRestarts(t *testing.T) {
	f := service(t, "", 0).running().exits(3)
	f.RestartAt = f.now.Add(time.Minute)
	require.Contains(t, f.Status(f.now).Message, "its host starts it again")
	f.unrecorded(f.Generation, f.Fence)
	f.Adopt()
	f.Adopted(errors.New("nothing runs"))
	s := f.Status(f.now)
	require.Equal(t, v1.PhaseDegraded, s.Phase)
	require.Contains(t, s.Message, "does not start it again")
	require.Len(t, s.Conditions, 1)
	require.Equal(t, v1.ReasonRecordMissing, s.Conditions[0].Reason)
	require.Nil(t, s.NextTry)
	f.exits(3)
	require.Empty(t, f.Status(f.now).Conditions, "its host has one")
}

// A host may say that it has no record just before an action writes it, and be heard after that.
func TestALateWordOfALostRecordEndsWithTheAnswer(t *testing.T) {
	f := service(t, "", 0).running()
	f.unrecorded(f.Generation, f.Fence)
	require.NotEmpty(t, f.Status(f.now).Conditions)
	f.Adopt()
	f.Adopted(nil) // it had one
	require.Empty(t, f.Status(f.now).Conditions)
}
