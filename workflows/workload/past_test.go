package workload

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

func TestPastActionsAreKeptSmall(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	s := State{Name: "web", Home: Home{Placement: &Placement{Host: "a-host-with-a-long-name"}}}
	s.Workload.Kind = v1.KindContainer
	s.Doing = &Doing{Kind: v1.VerbDeploy, Verb: v1.VerbDeploy, Fence: 1}
	s.remember(contract.Retryable(v1.ReasonNoCapacity, "", "no room"), at)
	require.Empty(t, s.Past, "a placement that failed was no action")

	for i := range int64(keepPast + 7) {
		s.Doing = &Doing{
			Kind: v1.VerbDeploy, Verb: v1.VerbRestart, Fence: 1767323045678 + i, Generation: 3, Try: 2, RunID: "019a-run",
			StartedAt: at, LaunchedAt: at.Add(time.Second),
		}
		s.remember(contract.Retryable(v1.ReasonRuntimeUnavailable, "a", "%s", strings.Repeat("long ", 500)), at.Add(2*time.Second))
	}
	require.Len(t, s.Past, keepPast)
	data, err := json.Marshal(s.Past)
	require.NoError(t, err)
	require.Less(t, len(data), 25<<10)

	ended := at.Add(2 * time.Second)
	all := s.PastActions()
	require.Len(t, all, keepPast)
	require.Equal(t, v1.Action{
		ID: "workload/web/deploy/1767323045734", RunID: "019a-run", Workload: "web", Kind: v1.KindContainer, Verb: v1.VerbRestart,
		Host: "a-host-with-a-long-name", Fence: 1767323045734, Generation: 3, Attempts: 2, Outcome: v1.OutcomeFailed,
		Reason: v1.ReasonRuntimeUnavailable, Message: s.Past[0].Message, CreatedAt: at, StartedAt: at.Add(time.Second), EndedAt: &ended,
	}, all[0], "newest first")
	require.Equal(t, int64(1767323045685), all[keepPast-1].Fence, "the oldest are dropped")
}

func TestASupersededActionIsNoFailure(t *testing.T) {
	s := State{Name: "web", Doing: &Doing{Kind: v1.VerbStop, Verb: v1.VerbStop, Fence: 2, RunID: "r"}}
	s.remember(contract.Retryable(v1.ReasonSuperseded, "", "superseded by a later request"), time.UnixMilli(5))
	past := s.PastActions()[0]
	require.Equal(t, v1.OutcomeSuperseded, past.Outcome)
	require.Equal(t, v1.VerbStop, past.Verb)
	require.Empty(t, past.Message)
	require.Empty(t, past.Reason)
}
