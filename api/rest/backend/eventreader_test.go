package backend

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// reader is one of a run whose workload is on h1 with fence 7.
func reader(t *testing.T) *eventReader {
	t.Helper()
	b := New(Config{Data: converter.GetDefaultDataConverter(), Logger: slog.New(slog.DiscardHandler)})
	r := b.newEventReader(t.Context(), "01234567-0123-0123-0123-0123456789ab")
	r.status, r.told = v1.Status{Host: "h1", Fence: 7, Phase: v1.PhaseRunning}, true
	return r
}

// observes feeds a signal as an agent sends it, and returns what is told of it.
func observes(t *testing.T, r *eventReader, o contract.Observation) []v1.Event {
	t.Helper()
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(o)
	require.NoError(t, err)
	return r.read(&historypb.HistoryEvent{
		EventId: r.last + 1, EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{
			WorkflowExecutionSignaledEventAttributes: &historypb.WorkflowExecutionSignaledEventAttributes{
				SignalName: contract.SignalObserve, Input: payloads,
			},
		},
	})
}

// What an agent says twice, late, or of another life of the workload changes nothing, and is not told.
func TestObservationsAreToldOnce(t *testing.T) {
	r := reader(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	exit := &contract.Exit{Code: 3, Outcome: v1.ReasonExited, At: at}
	seq := func(n int64, state contract.RunState, exit *contract.Exit) contract.Observation {
		return contract.Observation{Host: "h1", Fence: 7, LeaseNo: 1, Seq: n, State: state, Exit: exit}
	}
	require.Empty(t, observes(t, r, seq(1, contract.RunRunning, nil)), "it ran before")
	told := observes(t, r, seq(2, contract.RunExited, exit))
	require.Len(t, told, 1)
	require.Equal(t, "it exited with code 3", told[0].Message)
	require.Equal(t, "01234567-0123-0123-0123-0123456789ab.2.1", told[0].ID)
	require.Empty(t, observes(t, r, seq(2, contract.RunExited, exit)), "twice")
	require.Empty(t, observes(t, r, seq(1, contract.RunRunning, nil)), "late")
	require.Empty(t, observes(t, r, seq(3, contract.RunExited, exit)), "the same exit, told again")
	other := seq(9, contract.RunAbsent, nil)
	other.Host = "h2"
	require.Empty(t, observes(t, r, other), "a host that it is not on any more")
	other = seq(9, contract.RunAbsent, nil)
	other.Fence = 8
	require.Empty(t, observes(t, r, other), "a fence that was not given yet")
	require.Len(t, observes(t, r, seq(4, contract.RunRunning, nil)), 1, "it runs again")
	require.Len(t, observes(t, r, seq(5, contract.RunAbsent, nil)), 1)
	killed := seq(6, contract.RunExited, &contract.Exit{Code: 137, Outcome: v1.ReasonOutOfMemory, At: at, Message: "m"})
	killed.Attempt = 2
	told = observes(t, r, killed)
	require.Equal(t, "attempt 2: it was killed for want of memory (exit code 137): m", told[0].Message)
	off := seq(7, contract.RunExited, &contract.Exit{Outcome: v1.ReasonExited, At: at.Add(time.Second), Message: "powered off"})
	off.Message = "powered off"
	told = observes(t, r, off)
	require.Equal(t, "it exited with code 0: powered off", told[0].Message, "once, who says it twice")
}

func TestPositions(t *testing.T) {
	p := position{run: "01234567-0123-0123-0123-0123456789ab", event: 12, part: 3}
	back, err := parsePosition("f", p.String())
	require.NoError(t, err)
	require.Equal(t, p, back)
	require.True(t, p.before(position{event: 13}))
	require.True(t, p.before(position{event: 12, part: 4}))
	require.False(t, p.before(p))
	for _, text := range []string{"", "x", p.run, p.run + ".1", p.run + ".1.", p.run + ".-1.1", p.run + ".1.1\n", "../" + p.String(), p.run + ".12345678901.1"} {
		_, err := parsePosition("f", text)
		var fields v1.FieldErrors
		require.ErrorAs(t, err, &fields, text)
		require.Equal(t, v1.Path("f"), fields[0].Path)
	}
}

func TestPhaseWords(t *testing.T) {
	next := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	before := v1.Status{Phase: v1.PhaseDeploying}
	require.Equal(t, "Deploying → Failed: ImageNotFound: m; next try at 2026-01-02T03:04:05Z",
		phaseWords(before, v1.Status{Phase: v1.PhaseFailed, Reason: v1.ReasonImageNotFound, Message: "m", NextTry: &next}))
	require.Equal(t, "Deploying", phaseWords(v1.Status{}, before))
}
