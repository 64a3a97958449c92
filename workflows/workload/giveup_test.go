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
