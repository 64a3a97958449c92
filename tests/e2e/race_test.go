package e2e

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

func TestRaces(t *testing.T) {
	runAll(t, fleet(t), []subtest{
		{"one spec twenty times at once", applyAtOnce},
		{"twenty specs at once", updatesAtOnce},
		{"deletes race applies", deletesRace},
		{"delete and apply, three times", deleteAndApply},
		{"verbs supersede each other", verbsRace},
	})
}

// answered sends a request until a worker has answered it, with one key: the API waits for an answer for some seconds only, and
// says so. To a new workload it says 202 then, and would do the rest by itself.
func answered(t *testing.T, f *harness.Fleet, method, path string, body any) reply {
	key := "Idempotency-Key: " + rand.Text()
	for end := time.Now().Add(soon); ; {
		r := send(t.Context(), f.API, method, path, body, key)
		silent := r.status == http.StatusServiceUnavailable || method == http.MethodPut && r.status == http.StatusAccepted
		if r.err != nil || !silent || time.Now().After(end) {
			return r
		}
	}
}

// together sends n requests at once, and returns the answers.
func together(n int, request func(i int) reply) []reply {
	replies := make([]reply, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { replies[i] = request(i) })
	}
	all.Wait()
	return replies
}

func applyAtOnce(t *testing.T, f *harness.Fleet) {
	w := container(t, f, "one")
	created := 0
	for _, r := range together(20, func(int) reply { return answered(t, f, http.MethodPut, "/v1/workloads/one", w) }) {
		require.NoError(t, r.err)
		a := is[v1.Accepted](t, r, r.status)
		require.EqualValues(t, 1, a.Generation)
		if r.status == http.StatusCreated {
			created++
			require.Equal(t, "created", a.Changed)
			continue
		}
		require.Equal(t, http.StatusOK, r.status, "%s", r.body)
		require.Equal(t, "unchanged", a.Changed)
	}
	require.Equal(t, 1, created)
	v := f.AwaitPhase("one", soon, v1.PhaseRunning)
	require.EqualValues(t, 1, v.Status.Generation)
	require.Len(t, containersOf(t, f, "one"), 1)
	remove(t, f, "one")
}

func updatesAtOnce(t *testing.T, f *harness.Fleet) {
	const n = 20
	byGeneration := map[int64]int{}
	specs := make([]*v1.Workload, n)
	for i := range n {
		specs[i] = container(t, f, "many", "env: {N: \""+strconv.Itoa(i)+"\"}")
	}
	replies := together(n, func(i int) reply { return answered(t, f, http.MethodPut, "/v1/workloads/many", specs[i]) })
	for i, r := range replies {
		require.NoError(t, r.err)
		byGeneration[is[v1.Accepted](t, r, r.status).Generation] = i
	}
	require.Len(t, byGeneration, n, "each has a generation of its own")
	f.AwaitWorkload("many", long, "the last spec runs", func(v v1.View) bool {
		return v.Status.Phase == v1.PhaseRunning && v.Status.Settled && v.Status.RunningGeneration == n
	})
	require.Len(t, containersOf(t, f, "many"), 1)
	require.Contains(t, inspect(t, f, "many").Config.Env, "N="+strconv.Itoa(byGeneration[n]))
	remove(t, f, "many")
	require.Empty(t, containersOf(t, f, "many"))
}

func deletesRace(t *testing.T, f *harness.Fleet) {
	w := container(t, f, "raced")
	allowed := []int{200, 201, 202, 404, 409}
	for _, r := range together(30, func(i int) reply {
		if i%3 == 1 {
			return answered(t, f, http.MethodDelete, "/v1/workloads/raced", nil)
		}
		return answered(t, f, http.MethodPut, "/v1/workloads/raced", w)
	}) {
		require.NoError(t, r.err)
		require.Contains(t, allowed, r.status, "%s", r.body)
	}
	// Whoever won: an apply that is accepted in the end runs, once.
	harness.Eventually(t, func() bool {
		return call(t, f, http.MethodPut, "/v1/workloads/raced", w).status/100 == 2
	}, soon, poll)
	f.AwaitPhase("raced", soon, v1.PhaseRunning)
	require.Len(t, containersOf(t, f, "raced"), 1)
	remove(t, f, "raced")
	require.Empty(t, containersOf(t, f, "raced"))
}

func deleteAndApply(t *testing.T, f *harness.Fleet) {
	for range 3 {
		f.Apply(container(t, f, "thrice", "volumes: [{name: d, target: /d}]"))
		v := f.AwaitPhase("thrice", soon, v1.PhaseRunning)
		require.EqualValues(t, 1, v.Status.Generation)
		require.Len(t, containersOf(t, f, "thrice"), 1)
		f.Do("thrice", v1.VerbRemove)
		if r := answered(t, f, http.MethodPut, "/v1/workloads/thrice", container(t, f, "thrice")); r.status == http.StatusConflict {
			problem(t, r, 409, v1.ReasonAlreadyRemoving)
		} else { // it was gone already
			created(t, r)
			f.Do("thrice", v1.VerbRemove)
		}
		f.AwaitGone("thrice", soon)
		require.Empty(t, containersOf(t, f, "thrice"))
		require.Len(t, only(t, f, "thrice", harness.Volumes(t, f.ID)), 1)
	}
}

func verbsRace(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "pushed"))
	f.AwaitPhase("pushed", soon, v1.PhaseRunning)
	first := inspect(t, f, "pushed")
	verbs := []string{"stop", "start", "restart", "retry"}
	for _, r := range together(16, func(i int) reply {
		return answered(t, f, http.MethodPost, "/v1/workloads/pushed/"+verbs[i%len(verbs)], nil)
	}) {
		require.NoError(t, r.err)
		is[v1.Accepted](t, r, 202)
	}
	v := awaitSettled(f, f.Do("pushed", v1.VerbStart))
	require.Equal(t, v1.PhaseRunning, v.Status.Phase)
	require.Equal(t, first.ID, inspect(t, f, "pushed").ID, "none of these replaces the container")
	require.True(t, inspect(t, f, "pushed").State.Running)
	remove(t, f, "pushed")
}
