package workload

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func reasons(f *fixture) (all []v1.Reason) {
	for _, c := range f.Status(f.now).Conditions {
		all = append(all, c.Reason)
	}
	return all
}

// What has happened is told until a later request has been carried out.
func TestAConditionIsOverWithTheNextRequestThatIsCarriedOut(t *testing.T) {
	f := service(t, "", 0).running()
	f.AddCondition(v1.ReasonMalformedSignal, "m", f.now)
	require.Equal(t, []v1.Reason{v1.ReasonMalformedSignal}, reasons(f))
	f.ask(v1.VerbRestart).act(v1.VerbDeploy).placed()
	f.AddCondition(v1.ReasonCancelIgnored, "c", f.now)
	require.Len(t, reasons(f), 2, "it is not carried out yet")
	f.Succeeded(contract.StepOut{}, f.now)
	require.Equal(t, []v1.Reason{v1.ReasonCancelIgnored}, reasons(f), "that came during the restart")
	f.ask(v1.VerbStop).act(v1.VerbStop).ok()
	require.Empty(t, reasons(f))
}

// What a host finds is told as long as the host says it, with the time at which it began.
func TestAFindingHoldsAsLongAsItIsSaid(t *testing.T) {
	f := service(t, "", 0).running()
	seq := int64(0)
	see := func(s contract.RunState, findings ...contract.Finding) []v1.Condition {
		seq++
		f.now = f.now.Add(time.Second)
		f.Observe(contract.Observation{Host: "h1", Fence: f.Fence, LeaseNo: 9, Seq: seq, State: s, Findings: findings}, f.now)
		return f.Status(f.now).Conditions
	}
	first := contract.Finding{Reason: v1.ReasonUndefined, Message: "its domain was undefined"}
	began := f.now.Add(time.Second)
	require.Equal(t, []v1.Condition{{Reason: v1.ReasonUndefined, Message: first.Message, At: began}}, see(contract.RunRunning, first))
	require.Equal(t, began, see(contract.RunRunning, first)[0].At)
	require.Equal(t, v1.PhaseRunning, f.Status(f.now).Phase)
	for range 5 {
		f.AddCondition(v1.ReasonMalformedSignal, "m", f.now)
	}
	require.Len(t, reasons(f), keepConditions)
	require.Equal(t, v1.ReasonUndefined, reasons(f)[0], "what holds now stands first")
	require.Len(t, see(contract.RunExited, first), keepConditions)
	require.NotContains(t, reasons(f), v1.ReasonUndefined, "it does not run")
	see(contract.RunRunning)
	require.NotContains(t, reasons(f), v1.ReasonUndefined)
	f.ask(v1.VerbStop)
	see(contract.RunRunning, first)
	f.act(v1.VerbStop).Succeeded(contract.StepOut{}, f.now)
	require.Empty(t, reasons(f))
}

// What is off its network, or does not run, has no addresses; what is not known for sure says nothing.
func TestAddressesAreThoseOfWhatRuns(t *testing.T) {
	f := service(t, "", 0).act(v1.VerbDeploy).placed()
	f.Succeeded(contract.StepOut{Addresses: []string{"10.0.0.2"}, Ports: []string{"80:80/tcp"}}, f.now)
	seq := int64(0)
	see := func(s contract.RunState, exact bool, addresses ...string) []string {
		seq++
		f.Observe(contract.Observation{
			Host: "h1", Fence: f.Fence, LeaseNo: 9, Seq: seq, State: s, Exact: exact, Addresses: addresses,
			Exit: &contract.Exit{Code: 1, Outcome: v1.ReasonExited, At: f.now},
		}, f.now)
		st := f.Status(f.now)
		if len(st.Addresses) == 0 {
			require.Empty(t, st.Ports)
		}
		return st.Addresses
	}
	require.Len(t, see(contract.RunRunning, false), 1, "a guest whose addresses are not known yet")
	require.Empty(t, see(contract.RunExited, true))
	require.Len(t, see(contract.RunRunning, false), 1, "it is up again")
	require.Len(t, see(contract.RunExited, false), 1, "an agent of an earlier version")
	require.Equal(t, []string{"10.0.0.3"}, see(contract.RunRunning, true, "10.0.0.3"))
	require.Empty(t, see(contract.RunRunning, true), "it was disconnected")
	require.Equal(t, []string{"10.0.0.4"}, see(contract.RunRunning, true, "10.0.0.4"))
	require.Empty(t, see(contract.RunAbsent, true))
}
