package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	sdk "go.temporal.io/sdk/client"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
	"github.com/berth-dev/berth/workflows/contract"
)

// synthetic is a fleet whose one host runs workloads in memory.
func synthetic(t *testing.T, serverArgs []string, agentArgs ...string) *harness.Fleet {
	t.Helper()
	f := harness.NewFleet(t, harness.Synthetic())
	f.StartServer(append(serverArgs, pace...)...)
	f.StartAgent(hostName, append(append(agentArgs, "--synthetic"), pace...)...)
	f.AwaitHost(hostName, soon, v1.HostOnline)
	return f
}

// inMemory is a workload that needs no image.
func inMemory(f *harness.Fleet, name string) *v1.Workload {
	return f.Parse("apiVersion: berth/v1\nkind: Container\nmetadata: {name: " + name + "}\nspec: {image: none, env: {PASSWORD: hunter2}}\n")
}

// TestHistory asks what was done.
func TestHistory(t *testing.T) {
	f := synthetic(t, []string{"--temporal-ui", "https://ui.example/"})
	runAll(t, f, []subtest{
		{"pages hold while actions begin", pagesHold},
		{"an action and its steps", oneAction},
		{"what Temporal has forgotten", forgotten},
		{"what was refused leaves no ghost", noGhost},
	})
}

// listActions reads all pages.
func listActions(t *testing.T, f *harness.Fleet, filter client.ActionFilter) []v1.Action {
	t.Helper()
	var all []v1.Action
	for {
		var list v1.ActionList
		harness.Eventually(t, func() bool { // a note says that a worker did not answer in time
			var err error
			list, err = f.Client().Actions(t.Context(), filter)
			require.NoError(t, err)
			return len(list.Notes) == 0
		}, soon, poll)
		all = append(all, list.Items...)
		if list.NextPageToken == "" {
			return all
		}
		filter.PageToken = list.NextPageToken
	}
}

func idsOf(actions []v1.Action) []string {
	ids := make([]string, len(actions))
	for i, a := range actions {
		ids[i] = a.ID
	}
	return ids
}

// stopAndStart gives a workload so many actions.
func stopAndStart(t *testing.T, f *harness.Fleet, name string, times int) {
	t.Helper()
	for range times {
		awaitSettled(f, f.Do(name, v1.VerbStop))
		awaitSettled(f, f.Do(name, v1.VerbStart))
	}
}

// churn restarts a workload until ctx ends.
func churn(ctx context.Context, c *client.Client, name string) error {
	for ctx.Err() == nil {
		if _, err := c.Do(ctx, name, v1.VerbRestart, client.Change{}); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func pagesHold(t *testing.T, f *harness.Fleet) {
	for n := range 4 {
		f.Apply(inMemory(f, fmt.Sprintf("busy-%d", n)))
	}
	for n := range 4 {
		name := fmt.Sprintf("busy-%d", n)
		f.AwaitPhase(name, soon, v1.PhaseRunning)
		stopAndStart(t, f, name, 5)
	}
	// Temporal's own list of them comes late by a moment.
	var before []string
	harness.Eventually(t, func() bool {
		// Those of other tests may be forgotten while pages are read.
		all := listActions(t, f, client.ActionFilter{Host: hostName, Limit: 200})
		before = idsOf(slices.DeleteFunc(all, func(a v1.Action) bool { return !strings.HasPrefix(a.Workload, "busy-") }))
		return len(before) >= 4*11
	}, soon, poll)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	churned := make(chan error, 1)
	go func() { churned <- churn(ctx, f.Client(), "busy-0") }() // more begin while pages are read
	c := f.Client()
	filter := client.ActionFilter{Host: hostName, Limit: 3}
	var got []v1.Action
	for page := 0; ; page++ {
		list, err := c.Actions(t.Context(), filter)
		require.NoError(t, err)
		require.LessOrEqual(t, len(list.Items), 3)
		got = append(got, list.Items...)
		if filter.PageToken = list.NextPageToken; filter.PageToken == "" {
			break
		}
	}
	cancel()
	require.NoError(t, <-churned)
	require.True(t, slices.IsSortedFunc(got, func(a, b v1.Action) int { return b.StartedAt.Compare(a.StartedAt) }), "newest first")
	ids := idsOf(got)
	for _, id := range before {
		require.Contains(t, ids, id)
	}
	slices.Sort(ids)
	require.Len(t, slices.Compact(slices.Clone(ids)), len(ids), "none twice")

	// Times bound a list at both ends.
	some := listActions(t, f, client.ActionFilter{Since: got[9].StartedAt, Until: got[4].StartedAt, Limit: 2})
	require.Subset(t, idsOf(some), idsOf(got[4:10]))
	for _, a := range some {
		require.False(t, a.StartedAt.Before(got[9].StartedAt) || a.StartedAt.After(got[4].StartedAt))
	}
	problem(t, call(t, f, http.MethodGet, "/v1/actions?since=yesterday", nil), 422, v1.ReasonInvalid)
	problem(t, call(t, f, http.MethodGet, "/v1/actions?pageToken=nonsense", nil), 422, v1.ReasonInvalid)
	code, out := f.CLI("actions", "--since", "1h", "--host", hostName, "--limit", "201")
	require.Zero(t, code, out)
	require.Contains(t, out, "busy-3")
}

func oneAction(t *testing.T, f *harness.Fleet) {
	f.Apply(inMemory(f, "stepped"))
	v := f.AwaitPhase("stepped", soon, v1.PhaseRunning)
	require.Equal(t, "https://ui.example/namespaces/"+f.Temporal.Namespace+"/workflows/workload%2Fstepped", v.Links["temporal"])
	var all []v1.Action
	harness.Eventually(t, func() bool {
		all = listActions(t, f, client.ActionFilter{Workload: "stepped", Status: "Succeeded"})
		return len(all) == 1
	}, soon, poll)
	a := all[0]
	require.EqualValues(t, 1, a.Generation)
	require.Equal(t, 1, a.Attempts)
	require.False(t, a.StartedAt.Before(a.CreatedAt.Truncate(time.Millisecond)))
	require.False(t, a.EndedAt.Before(a.StartedAt))

	for _, path := range []string{"/v1/actions/" + a.ID, "/v1/actions/workload%2Fstepped%2Fdeploy%2F" + fmt.Sprint(a.Fence)} {
		r := call(t, f, http.MethodGet, path, nil)
		require.NotContains(t, string(r.body), "hunter2", "the inputs of steps hold specs")
		view := is[v1.ActionView](t, r, 200)
		require.Equal(t, a.ID, view.ID)
		require.Equal(t, v1.OutcomeSucceeded, view.Outcome)
		var names []string
		for _, s := range view.Steps {
			names = append(names, s.Step)
			require.Equal(t, v1.OutcomeSucceeded, s.Outcome)
			require.Equal(t, 1, s.Attempts)
			require.False(t, s.EndedAt.Before(s.BegunAt))
		}
		require.Equal(t, []string{"Bind", "container.Prepare", "container.Start"}, names)
		require.Equal(t, "https://ui.example/namespaces/"+f.Temporal.Namespace+"/workflows/workload%2Fstepped%2Fdeploy%2F"+
			fmt.Sprint(a.Fence)+"/"+a.RunID+"/history", view.Links["temporal"])
	}
	code, out := f.CLI("action", a.ID)
	require.Zero(t, code, out)
	for _, text := range []string{"deploy of stepped, generation 1, on h1: Succeeded", "container.Start", "https://ui.example/"} {
		require.Contains(t, out, text)
	}
	problem(t, call(t, f, http.MethodGet, "/v1/actions/workload/stepped/deploy/1", nil), 404, v1.ReasonNotFound)
	problem(t, call(t, f, http.MethodGet, "/v1/actions/workload/nobody/deploy/1", nil), 404, v1.ReasonNotFound)
	problem(t, call(t, f, http.MethodGet, "/v1/actions/host/h1", nil), 422, v1.ReasonInvalid)
}

// forget lets Temporal lose an action, as its retention does.
func forget(t *testing.T, f *harness.Fleet, c sdk.Client, a v1.Action) {
	t.Helper()
	_, err := c.WorkflowService().DeleteWorkflowExecution(t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: f.Temporal.Namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: a.ID, RunId: a.RunID},
	})
	require.NoError(t, err)
}

func forgotten(t *testing.T, f *harness.Fleet) {
	c := f.Temporal.Client()
	f.Apply(inMemory(f, "old"))
	f.AwaitPhase("old", soon, v1.PhaseRunning)
	stopAndStart(t, f, "old", 3)
	ofOld := client.ActionFilter{Workload: "old", Limit: 2}
	var before []v1.Action
	harness.Eventually(t, func() bool {
		before = listActions(t, f, ofOld)
		return len(before) == 7 && before[0].Outcome == v1.OutcomeSucceeded
	}, soon, poll)
	for _, i := range []int{2, 5, 6} {
		forget(t, f, c, before[i])
	}
	harness.Eventually(t, func() bool {
		var fleetWide []string
		for _, a := range listActions(t, f, client.ActionFilter{Host: hostName, Limit: 200}) {
			if a.Workload == "old" {
				fleetWide = append(fleetWide, a.ID)
			}
		}
		return len(fleetWide) == 4
	}, long, poll, "Temporal has forgotten them")
	after := listActions(t, f, ofOld)
	require.Equal(t, idsOf(before), idsOf(after), "the workload has not, and no action is listed twice")
	for i := range after {
		require.Equal(t, before[i].Verb, after[i].Verb)
		require.Equal(t, before[i].Outcome, after[i].Outcome)
		require.Equal(t, before[i].Host, after[i].Host)
		require.Equal(t, before[i].RunID, after[i].RunID)
		require.WithinDuration(t, before[i].StartedAt, after[i].StartedAt, time.Minute)
	}
	require.Len(t, listActions(t, f, client.ActionFilter{Workload: "old", Verb: "stop"}), 3)
	var view v1.ActionView
	harness.Eventually(t, func() bool {
		view = is[v1.ActionView](t, call(t, f, http.MethodGet, "/v1/actions/"+before[6].ID, nil), 200)
		return len(view.Notes) == 1
	}, long, poll)
	require.Equal(t, before[6].ID, view.ID)
	require.Empty(t, view.Steps)
	require.Empty(t, view.Links["temporal"])

	// The memory of a workload outlives its removal for as long as Temporal keeps the workload's own workflow.
	remove(t, f, "old")
	harness.Eventually(t, func() bool { return len(listActions(t, f, ofOld)) == 8 }, soon, poll)
}

// A submission that is refused, by the API or by a workflow that somebody started by hand, is in no list.
func noGhost(t *testing.T, f *harness.Fleet) {
	problem(t, call(t, f, http.MethodPut, "/v1/workloads/ghost", `{"apiVersion":"berth/v1","kind":"Container","spec":{"image":""}}`), 422, v1.ReasonInvalid)
	noWorkflow(t, f, "ghost")
	run, err := f.Temporal.Client().ExecuteWorkflow(t.Context(), sdk.StartWorkflowOptions{
		ID: contract.WorkloadID("ghost"), TaskQueue: contract.ControlPlaneQueue,
	}, contract.WorkflowWorkload, contract.WorkloadInput{
		Timings: contract.DefaultTimings(),
		Apply:   &contract.ApplyRequest{RequestID: "g", Workload: v1.Workload{APIVersion: v1.APIVersion, Kind: v1.KindContainer}},
	})
	require.NoError(t, err)
	require.NoError(t, run.Get(t.Context(), nil), "it closes at once")
	f.Apply(inMemory(f, "seen"))
	harness.Eventually(t, func() bool { return len(listActions(t, f, client.ActionFilter{Workload: "seen"})) == 1 }, soon, poll)
	require.Empty(t, listActions(t, f, client.ActionFilter{Workload: "ghost"}))
	problem(t, call(t, f, http.MethodGet, "/v1/workloads/ghost", nil), 404, v1.ReasonNotFound)
	list, err := f.Client().List(t.Context(), client.Filter{Limit: 200})
	require.NoError(t, err)
	for _, v := range list.Items {
		require.NotEqual(t, "ghost", v.Metadata.Name)
	}
}
