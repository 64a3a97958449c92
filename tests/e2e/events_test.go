package e2e

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

// listEvents reads all pages, oldest event first.
func listEvents(t *testing.T, f *harness.Fleet, name string) []v1.Event {
	t.Helper()
	var all []v1.Event
	for token := ""; ; {
		list, err := f.Client().Events(t.Context(), name, 7, token)
		require.NoError(t, err)
		all = append(list.Items, all...)
		if token = list.NextPageToken; token == "" {
			return all
		}
	}
}

// watching is a watch beside the test.
type watching struct {
	events chan v1.Event
	ended  chan error
}

func watch(ctx context.Context, f *harness.Fleet, name string, tail int) watching {
	w := watching{events: make(chan v1.Event, 10_000), ended: make(chan error, 1)}
	c := f.Client()
	go func() {
		w.ended <- c.Watch(ctx, name, tail, func(e v1.Event) error { w.events <- e; return nil })
	}()
	return w
}

// next waits for an event that is as wanted, and returns all up to it.
func (w watching) next(t *testing.T, what string, wanted func(v1.Event) bool) []v1.Event {
	t.Helper()
	var all []v1.Event
	deadline := time.After(soon)
	for {
		select {
		case e := <-w.events:
			if all = append(all, e); wanted(e) {
				return all
			}
		case <-deadline:
			require.Failf(t, "no such event", "waited for %s; there were %+v", what, all)
		}
	}
}

func lastOfAll(e v1.Event) bool { return e.Type == v1.EventEnded }

// all waits for the end.
func (w watching) all(t *testing.T) []v1.Event {
	t.Helper()
	all := w.next(t, "the end", lastOfAll)
	require.NoError(t, <-w.ended)
	return all
}

func eventIDs(events []v1.Event) []string {
	ids := make([]string, len(events))
	for i, e := range events {
		ids[i] = e.ID
	}
	return ids
}

// words are the types and messages, without what differs from run to run.
func words(events []v1.Event) []string {
	out := make([]string, len(events))
	for i, e := range events {
		out[i] = string(e.Type) + " " + e.Message
	}
	return out
}

func TestEvents(t *testing.T) {
	f := synthetic(t, nil)
	runAll(t, f, []subtest{
		{"a life", lifeInEvents},
		{"a terminated workflow", terminatedEvents},
		{"over runs, from each event", eventsOverRuns},
	})
}

func lifeInEvents(t *testing.T, f *harness.Fleet) {
	a := f.Apply(inMemory(f, "told"))
	f.AwaitPhase("told", soon, v1.PhaseRunning)
	w := watch(t.Context(), f, "told", 100)
	awaitSettled(f, f.Do("told", v1.VerbStop))
	signal(t, f, "told", "start")
	f.AwaitPhase("told", soon, v1.PhaseRunning)
	signal(t, f, "told", "stop", "--input", `"nonsense"`)
	f.AwaitWorkload("told", soon, "it has a condition", func(v v1.View) bool { return len(v.Status.Conditions) == 1 })
	f.Apply(inMemory(f, "told")) // which changes nothing
	f.Do("told", v1.VerbRemove)
	events := w.all(t)
	require.Equal(t, []string{
		"Accepted generation 1 was accepted", "Phase Deploying", "Placed it was placed on h1", "ActionStarted deploy begins",
		"ActionEnded deploy succeeded", "Phase Deploying → Running",
		"Accepted stop was accepted", "Phase Running → Stopping", "ActionStarted stop begins", "ActionEnded stop succeeded",
		"Phase Stopping → Stopped: UserStopped",
		"Accepted start was accepted", "Phase Stopped → Deploying", "ActionStarted start begins", "ActionEnded start succeeded",
		"Phase Deploying → Running",
		"Condition signal stop was ignored: its argument is neither empty nor a request object",
		"Accepted remove was accepted", "Phase Running → Removing", "ActionStarted remove begins", "ActionEnded remove succeeded",
		"Phase Removing → Removed", "Ended nothing of it is left but what stays; nothing follows",
	}, words(events))
	require.Equal(t, a.RequestID, events[0].RequestID)
	require.True(t, slices.IsSortedFunc(events, func(a, b v1.Event) int { return a.At.Compare(b.At) }))
	require.Equal(t, eventIDs(events), eventIDs(listEvents(t, f, "told")), "what is gone can still be listed")

	code, out := f.CLI("events", "told", "--follow")
	require.Zero(t, code, out)
	require.Contains(t, out, "Phase          Deploying → Running")
	require.Contains(t, out, "stop begins (workload/told/stop/")
	problem(t, call(t, f, http.MethodGet, "/v1/workloads/nobody/events", nil), 404, v1.ReasonNotFound)
	problem(t, call(t, f, http.MethodGet, "/v1/workloads/nobody/watch", nil), 404, v1.ReasonNotFound)
	problem(t, call(t, f, http.MethodGet, "/v1/workloads/told/events?pageToken=x", nil), 422, v1.ReasonInvalid)
	problem(t, call(t, f, http.MethodGet, "/v1/workloads/told/watch", nil, "Last-Event-ID: x"), 422, v1.ReasonInvalid)
	problem(t, call(t, f, http.MethodGet, "/v1/workloads/told/watch", nil,
		"Last-Event-ID: 00000000-0000-0000-0000-000000000000.1.1"), 404, v1.ReasonNotFound)
}

func terminatedEvents(t *testing.T, f *harness.Fleet) {
	f.Apply(inMemory(f, "cut"))
	f.AwaitPhase("cut", soon, v1.PhaseRunning)
	w := watch(t.Context(), f, "cut", 100)
	w.next(t, "it runs: the watch has begun", func(e v1.Event) bool { return e.Phase == v1.PhaseRunning })
	f.Temporal.CLI("workflow", "terminate", "--workflow-id", "workload/cut", "--reason", "test")
	require.Equal(t, []string{"Ended its workflow was terminated: nobody looks after it any more"}, words(w.all(t)))
}

// resumed reads what follows an event until the stream ends, as curl would.
func resumed(t *testing.T, f *harness.Fleet, name, after string) (int, []string) {
	t.Helper()
	r := call(t, f, http.MethodGet, "/v1/workloads/"+name+"/watch", nil, "Last-Event-ID: "+after)
	require.NoError(t, r.err)
	var ids []string
	for lines := bufio.NewScanner(strings.NewReader(string(r.body))); lines.Scan(); {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			ids = append(ids, id)
		}
	}
	return r.status, ids
}

func eventsOverRuns(t *testing.T, f *harness.Fleet) {
	f.Apply(inMemory(f, "long"))
	w := watch(t.Context(), f, "long", 100) // it may run before the watch begins
	w.next(t, "it runs", func(e v1.Event) bool { return e.Phase == v1.PhaseRunning })
	stopAndStart(t, f, "long", 8)
	f.Do("long", v1.VerbRemove)
	watched := w.all(t)
	all := listEvents(t, f, "long")
	ids := eventIDs(all)
	require.Equal(t, ids[len(ids)-len(watched):], eventIDs(watched), "a watch misses nothing, and tells nothing twice")
	runs := map[string]bool{}
	for _, id := range ids {
		run, _, _ := strings.Cut(id, ".")
		runs[run] = true
	}
	require.Greater(t, len(runs), 1, "it went on over several runs of the workflow")
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(ids))), len(ids))
	require.Equal(t, 8, strings.Count(strings.Join(words(all), "\n"), "Accepted stop"))
	for i := 0; i < len(ids)-1; i += 5 {
		status, follow := resumed(t, f, "long", ids[i])
		require.Equal(t, 200, status)
		require.Equal(t, ids[i+1:], follow, "after %d of %d", i, len(ids))
	}
	status, follow := resumed(t, f, "long", ids[len(ids)-1])
	require.Equal(t, http.StatusNoContent, status)
	require.Empty(t, follow)
}

// A watch goes on over a server that is killed, with all that happened meanwhile.
func TestAWatchOverAKilledServer(t *testing.T) {
	t.Parallel()
	f := synthetic(t, []string{"--max-watchers", "2"})
	f.Apply(inMemory(f, "on"))
	f.AwaitPhase("on", soon, v1.PhaseRunning)
	w := watch(t.Context(), f, "on", 100)
	before := w.next(t, "it runs", func(e v1.Event) bool { return e.Phase == v1.PhaseRunning })
	f.Servers[0].Kill()
	signal(t, f, "on", "stop") // taken by the next server
	f.Servers[0].Start()
	stopped := w.next(t, "it is stopped", func(e v1.Event) bool { return e.Phase == v1.PhaseStopped })
	require.NotContains(t, eventIDs(before), stopped[0].ID)

	// Two may watch at once.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	other := watch(ctx, f, "on", 1)
	other.next(t, "it is stopped", func(e v1.Event) bool { return e.Phase == v1.PhaseStopped })
	p := problem(t, call(t, f, http.MethodGet, "/v1/workloads/on/watch", nil), 429, v1.ReasonTooManyRequests)
	require.NotEmpty(t, p.Advice)
	cancel()
	require.Error(t, <-other.ended)
	harness.Eventually(t, func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.API+"/v1/workloads/on/watch", nil)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close()) // the stream would not end
		return res.StatusCode == http.StatusOK
	}, soon, poll, "who went away makes room")

	f.Do("on", v1.VerbRemove)
	rest := w.all(t)
	require.Equal(t, eventIDs(listEvents(t, f, "on")), eventIDs(slices.Concat(before, stopped, rest)))
}

// What a host sees happen is told.
func TestObservedEvents(t *testing.T) {
	t.Parallel()
	f := fleet(t)
	f.Apply(container(t, f, "hit", shell(idle)))
	f.AwaitPhase("hit", soon, v1.PhaseRunning)
	w := watch(t.Context(), f, "hit", 100)
	w.next(t, "it runs: the watch has begun", func(e v1.Event) bool { return e.Phase == v1.PhaseRunning })
	docker(t, "kill", containerName(f, "hit"))
	seen := w.next(t, "it runs again", func(e v1.Event) bool { return e.Phase == v1.PhaseRunning })
	require.Equal(t, v1.EventObserved, seen[0].Type)
	require.Equal(t, 137, *seen[0].ExitCode)
	require.Equal(t, hostName, seen[0].Host)
	require.Contains(t, strings.Join(words(seen), "\n"), "Observed it runs again")
	a, err := f.Client().Do(t.Context(), "hit", v1.VerbRemove, client.Change{Key: "bye"})
	require.NoError(t, err)
	rest := w.all(t)
	require.Equal(t, a.RequestID, rest[0].RequestID)
}
