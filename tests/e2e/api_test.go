package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/tests/harness"
)

func TestAPI(t *testing.T) {
	runAll(t, fleet(t), []subtest{
		{"a bad spec starts nothing", badSpec},
		{"If-Match", ifMatch},
		{"Idempotency-Key", idempotencyKey},
		{"dryRun", dryRun},
		{"lists are filtered and paged", lists},
		{"actions are listed", actions},
		{"what is not there", notThere},
		{"limits", limits},
		{"health and hosts", health},
		{"logs", logs},
	})
}

// Servers that come and go have a fleet of their own, one after the other: a task that is on its way to one that ends is
// late by Temporal's task timeout for whoever waits for it.
func TestMoreServers(t *testing.T) {
	t.Parallel()
	f := fleet(t)
	for _, s := range []subtest{{"tokens and scopes", tokens}, {"a burst", burst}} {
		t.Run(s.name, func(t *testing.T) { s.run(t, f.In(t)) })
	}
}

// nowhere is a workload that fails at once for good, and so costs little.
func nowhere(f *harness.Fleet, name, label string) *v1.Workload {
	return f.Parse("apiVersion: berth/v1\nkind: Container\nmetadata: {name: " + name + ", labels: {group: " + label +
		"}}\nspec: {image: 'berth-test-nowhere:x', pull: never}\n")
}

func paths(p v1.Problem) []string {
	var out []string
	for _, e := range p.Errors {
		out = append(out, string(e.Path))
	}
	return out
}

func badSpec(t *testing.T, f *harness.Fleet) {
	p := problem(t, call(t, f, http.MethodPut, "/v1/workloads/bad", `{"apiVersion":"berth/v1","kind":"Container",
		"spec":{"image":"","ports":[{"container":99999}],"resources":{"memory":"12 parsecs"}}}`), 422, v1.ReasonInvalid)
	require.NotEmpty(t, p.Advice)
	require.Subset(t, []string{"spec.image", "spec.ports[0].container", "spec.resources.memory"}, paths(p))
	p = problem(t, call(t, f, http.MethodPut, "/v1/workloads/bad", `{"apiVersion":"berth/v1","kind":"Container",
		"spec":{"image":"","ports":[{"container":99999}]}}`), 422, v1.ReasonInvalid)
	require.Equal(t, []string{"spec.image", "spec.ports[0].container"}, paths(p), "all mistakes at once")

	p = problem(t, call(t, f, http.MethodPut, "/v1/workloads/bad", `{"apiVersion":"berth/v1","kind":"Container",
		"spec":{"image":"a","helthCheck":{}}}`), 422, v1.ReasonInvalid)
	require.Equal(t, []string{"spec.helthCheck"}, paths(p))

	p = problem(t, call(t, f, http.MethodPut, "/v1/workloads/bad", "apiVersion: berth/v1\nkind: VM\nspec: {vcpus: 0, memory: 1Gi, disks: []}\n",
		"Content-Type: application/yaml"), 422, v1.ReasonInvalid)
	require.Contains(t, paths(p), "spec.vcpus")
	problem(t, call(t, f, http.MethodPut, "/v1/workloads/bad", "{"), 422, v1.ReasonInvalid)
	problem(t, call(t, f, http.MethodPut, "/v1/workloads/Bad_Name", nowhere(f, "bad", "x")), 422, v1.ReasonInvalid)
	noWorkflow(t, f, "bad")

	f.Apply(nowhere(f, "kind", "x"))
	v := vm(f, "kind", "http://127.0.0.1:1/x", "")
	p = problem(t, call(t, f, http.MethodPut, "/v1/workloads/kind", v), 422, v1.ReasonImmutable)
	require.Equal(t, []string{"kind"}, paths(p))
	remove(t, f, "kind")
}

func ifMatch(t *testing.T, f *harness.Fleet) {
	path := "/v1/workloads/match"
	problem(t, call(t, f, http.MethodPut, path, nowhere(f, "match", "a"), `If-Match: "1"`), 404, v1.ReasonNotFound)
	noWorkflow(t, f, "match")
	r := call(t, f, http.MethodPut, path, nowhere(f, "match", "a"))
	created(t, r)
	require.Equal(t, `"1"`, r.header.Get("ETag"))
	require.Equal(t, path, r.header.Get("Location"))
	problem(t, call(t, f, http.MethodPut, path, nowhere(f, "match", "b"), `If-Match: "7"`), 412, v1.ReasonGenerationMismatch)
	r = call(t, f, http.MethodPut, path, nowhere(f, "match", "b"), `If-Match: "1"`)
	require.EqualValues(t, 2, is[v1.Accepted](t, r, 200).Generation)
	problem(t, call(t, f, http.MethodPost, path+"/restart", nil, `If-Match: "1"`), 412, v1.ReasonGenerationMismatch)
	problem(t, call(t, f, http.MethodDelete, path, nil, `If-Match: "1"`), 412, v1.ReasonGenerationMismatch)
	is[v1.Accepted](t, call(t, f, http.MethodDelete, path, nil, `If-Match: "2"`), 202)
	f.AwaitGone("match", soon)
}

func idempotencyKey(t *testing.T, f *harness.Fleet) {
	path := "/v1/workloads/twice"
	first := created(t, call(t, f, http.MethodPut, path, nowhere(f, "twice", "a"), "Idempotency-Key: key-1"))
	is[v1.Accepted](t, call(t, f, http.MethodPut, path, nowhere(f, "twice", "b"), "Idempotency-Key: key-2"), 200)
	again := call(t, f, http.MethodPut, path, nowhere(f, "twice", "a"), "Idempotency-Key: key-1")
	require.Equal(t, first, is[v1.Accepted](t, again, again.status), "the first answer")
	require.EqualValues(t, 2, f.Workload("twice").Status.Generation, "and nothing is undone by it")

	stop := is[v1.Accepted](t, call(t, f, http.MethodPost, path+"/stop", nil, "Idempotency-Key: key-3"), 202)
	is[v1.Accepted](t, call(t, f, http.MethodPost, path+"/start", nil, "Idempotency-Key: key-4"), 202)
	require.Equal(t, stop, is[v1.Accepted](t, call(t, f, http.MethodPost, path+"/stop", nil, "Idempotency-Key: key-3"), 202))
	f.AwaitPhase("twice", soon, v1.PhaseFailed) // it is wanted to run
	remove(t, f, "twice")
}

func dryRun(t *testing.T, f *harness.Fleet) {
	path := "/v1/workloads/dry?dryRun=true"
	a := is[v1.Accepted](t, call(t, f, http.MethodPut, path, nowhere(f, "dry", "a")), 200)
	require.True(t, a.DryRun)
	require.Equal(t, "created", a.Changed)
	noWorkflow(t, f, "dry")
	f.Apply(nowhere(f, "dry", "a"))
	a = is[v1.Accepted](t, call(t, f, http.MethodPut, path, nowhere(f, "dry", "a")), 200)
	require.Equal(t, "unchanged", a.Changed)
	a = is[v1.Accepted](t, call(t, f, http.MethodPut, path, nowhere(f, "dry", "b")), 200)
	require.Equal(t, "updated", a.Changed)
	require.Equal(t, []string{"metadata.labels.group"}, a.ChangedFields)
	require.EqualValues(t, 1, f.Workload("dry").Status.Generation)
	remove(t, f, "dry")
}

func lists(t *testing.T, f *harness.Fleet) {
	const n = 5
	for i := range n {
		f.Apply(nowhere(f, "listed-"+strconv.Itoa(i), []string{"even", "odd"}[i%2]))
	}
	f.Apply(vm(f, "listed-vm", "http://127.0.0.1:1/nothing", ""))
	list := func(query string) []string {
		var names []string
		token := ""
		for {
			page := is[v1.WorkloadList](t, call(t, f, http.MethodGet, "/v1/workloads?"+query+"&pageToken="+token, nil), 200)
			for _, item := range page.Items {
				if strings.HasPrefix(item.Metadata.Name, "listed-") { // other tests have theirs
					names = append(names, item.Metadata.Name)
				}
			}
			if token = page.NextPageToken; token == "" {
				return names
			}
		}
	}
	// Lists may be behind for a moment.
	for query, want := range map[string][]string{
		"limit=2":                               {"listed-0", "listed-1", "listed-2", "listed-3", "listed-4", "listed-vm"},
		"limit=2&label=group%3Deven":            {"listed-0", "listed-2", "listed-4"},
		"label=group%3Dodd":                     {"listed-1", "listed-3"},
		"kind=VM":                               {"listed-vm"},
		"label=group%3Dodd&phase=Failed":        {"listed-1", "listed-3"},
		"label=group%3Dodd&phase=Running":       nil,
		"label=group%3Dodd&host=nobody":         nil,
		"kind=Container&phase=Failed&limit=200": {"listed-0", "listed-1", "listed-2", "listed-3", "listed-4"},
	} {
		var got []string
		if !awaitEqual(t, want, func() []string { got = list(query); return got }) {
			require.ElementsMatchf(t, want, got, "%s", query)
		}
	}
	problem(t, call(t, f, http.MethodGet, "/v1/workloads?phase=Sleeping", nil), 422, v1.ReasonInvalid)
	problem(t, call(t, f, http.MethodGet, "/v1/workloads?colour=red", nil), 422, v1.ReasonInvalid)
	problem(t, call(t, f, http.MethodGet, "/v1/workloads?pageToken=!", nil), 422, v1.ReasonInvalid)
	for i := range n {
		remove(t, f, "listed-"+strconv.Itoa(i))
	}
	remove(t, f, "listed-vm")
}

func actions(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "acted"))
	f.AwaitPhase("acted", soon, v1.PhaseRunning)
	awaitSettled(f, f.Do("acted", v1.VerbStop))
	awaitSettled(f, f.Do("acted", v1.VerbStart))
	remove(t, f, "acted")
	list := func(query string) []string {
		var got []string
		for _, a := range is[v1.ActionList](t, call(t, f, http.MethodGet, "/v1/actions?workload=acted"+query, nil), 200).Items {
			require.Equal(t, "acted", a.Workload)
			require.Equal(t, hostName, a.Host)
			got = append(got, fmt.Sprint(a.Verb, " ", a.Outcome))
		}
		return got
	}
	for query, want := range map[string][]string{
		"":                  {"remove Succeeded", "start Succeeded", "stop Succeeded", "deploy Succeeded"},
		"&limit=2":          {"remove Succeeded", "start Succeeded"},
		"&verb=stop":        {"stop Succeeded"},
		"&status=Failed":    nil,
		"&host=" + hostName: {"remove Succeeded", "start Succeeded", "stop Succeeded", "deploy Succeeded"},
	} {
		var got []string
		if !awaitEqual(t, want, func() []string { got = list(query); return got }) {
			require.Equalf(t, want, got, "%q", query)
		}
	}
}

func notThere(t *testing.T, f *harness.Fleet) {
	for _, r := range []reply{
		call(t, f, http.MethodGet, "/v1/workloads/none", nil),
		call(t, f, http.MethodDelete, "/v1/workloads/none", nil),
		call(t, f, http.MethodPost, "/v1/workloads/none/restart", nil),
		call(t, f, http.MethodGet, "/v1/workloads/none/logs", nil),
		call(t, f, http.MethodGet, "/v1/hosts/none", nil),
		call(t, f, http.MethodGet, "/v2/anything", nil),
	} {
		problem(t, r, 404, v1.ReasonNotFound)
	}
	require.Equal(t, 405, call(t, f, http.MethodPatch, "/v1/workloads/none", nil).status)
}

func limits(t *testing.T, f *harness.Fleet) {
	w := nowhere(f, "large", "x")
	w.Container.Env = map[string]string{"LONG": strings.Repeat("x", 300<<10)}
	problem(t, call(t, f, http.MethodPut, "/v1/workloads/large", w), 413, v1.ReasonInvalid)
	problem(t, call(t, f, http.MethodGet, "/v1/workloads?limit=100000", nil), 422, v1.ReasonInvalid)
	problem(t, call(t, f, http.MethodPut, "/v1/workloads/"+strings.Repeat("a", 64), nowhere(f, "large", "x")), 422, v1.ReasonInvalid)
	problem(t, call(t, f, http.MethodPut, "/v1/workloads/large", nowhere(f, "large", "x"),
		"Idempotency-Key: "+strings.Repeat("k", 129)), 422, v1.ReasonInvalid)
	noWorkflow(t, f, "large")
}

func health(t *testing.T, f *harness.Fleet) {
	require.True(t, is[v1.Health](t, call(t, f, http.MethodGet, "/healthz/live", nil), 200).OK)
	h := is[v1.Health](t, call(t, f, http.MethodGet, "/healthz/ready", nil), 200)
	require.True(t, h.OK)
	require.GreaterOrEqual(t, len(h.Checks), 3)
	var hosts v1.HostList
	harness.Eventually(t, func() bool { // lists are a moment behind
		hosts = is[v1.HostList](t, call(t, f, http.MethodGet, "/v1/hosts", nil), 200)
		return len(hosts.Items) == 1 && hosts.Items[0].State == v1.HostOnline
	}, soon, poll)
	require.Positive(t, hosts.Items[0].Capacity.CPUs)
	for _, r := range is[v1.Host](t, call(t, f, http.MethodGet, "/v1/hosts/"+hostName, nil), 200).Runtimes {
		require.Truef(t, r.Ready, "%s: %s", r.Name, r.Message)
		require.NotEmpty(t, r.Version)
	}
}

func logs(t *testing.T, f *harness.Fleet) {
	f.Apply(container(t, f, "talks", shell("for i in 1 2 3 4 5; do echo line $i; done; "+idle)))
	f.AwaitPhase("talks", soon, v1.PhaseRunning)
	var got v1.Logs
	harness.Eventually(t, func() bool {
		got = is[v1.Logs](t, call(t, f, http.MethodGet, "/v1/workloads/talks/logs?tail=2", nil), 200)
		return len(got.Lines) == 2 && got.Lines[1] == "line 5"
	}, soon, poll)
	require.Equal(t, []string{"line 4", "line 5"}, got.Lines)
	remove(t, f, "talks")
}
