package rest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// fakeBackend answers every operation with fixed words, or with err: these tests are about HTTP.
type fakeBackend struct {
	err      error
	applied  Applied
	seen     Request
	query    WorkloadQuery
	actions  ActionQuery
	secrets  bool
	change   contract.HostChange
	sweep    v1.SweepRequest
	sweepID  string
	page     Page
	schedule v1.SweepScheduleChange
	checks   []v1.Check
	hold     chan struct{}
	// watch is what is watched; nothing says that there is nothing to.
	watch   Watch
	nothing bool
	after   string
	tail    int
}

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func sampleStatus() v1.Status {
	code := 1
	return v1.Status{
		Phase: v1.PhaseDeploying, Reason: v1.ReasonFetchStalled, Message: "m", Advice: "a", Host: "h1", Type: v1.TypeService,
		Generation: 3, RunningGeneration: 2, Fence: 7, Seq: 5, Settled: true, SpecDigest: "ab", CreatedAt: at, ChangedAt: at, StartedAt: &at,
		Action: &v1.ActionRef{ID: "workload/web/deploy/7", Verb: v1.VerbDeploy, StartedAt: at}, Tries: 1, NextTry: &at, Permanent: true, Restarts: 2,
		ExitCode: &code, Attempt: 1, Addresses: []string{"10.0.0.2"}, Ports: []string{"8080:80/tcp"},
		Conditions: []v1.Condition{{Reason: v1.ReasonMalformedSignal, Message: "m", At: at}},
	}
}

func sampleView() v1.View {
	return v1.View{
		APIVersion: v1.APIVersion, Kind: v1.KindContainer, Metadata: v1.Metadata{Name: "web", Labels: map[string]string{"app": "shop"}},
		Status: sampleStatus(), Progress: []v1.Progress{{Step: "container.Prepare", Detail: "d", Done: 1, Total: 2, Attempt: 2, LastFailure: "f"}},
		Attempts: []v1.Attempt{{Number: 1, Fence: 7, Host: "h1", StartedAt: at, EndedAt: &at, Outcome: "Failed"}},
		Spec:     &v1.ContainerSpec{Image: "busybox"}, Links: map[string]string{"self": "/v1/workloads/web"}, Notes: []string{"n"},
	}
}

func sampleHost(name string) v1.Host {
	return v1.Host{
		Name: name, State: v1.HostOnline, Reason: v1.ReasonNone, Message: "m", Cordoned: true, Labels: map[string]string{"zone": "a"},
		Capacity: v1.Amounts{CPUs: 2500, Memory: 1 << 30, Disk: 1 << 40}, Workloads: 1, Debts: []string{"web"}, Guard: true,
		Runtimes: []v1.Runtime{{Name: "docker", Kinds: []v1.Kind{v1.KindContainer}, Version: "20", Ready: true, Message: "m"}},
		Instance: "i1", Version: "v", LeaseNo: 4, OnlineAt: &at, LastChange: at,
	}
}

func (f *fakeBackend) Apply(_ context.Context, w *v1.Workload, o Request) (Applied, error) {
	f.seen = o
	if f.hold != nil {
		<-f.hold
	}
	out := f.applied
	out.Name = w.Metadata.Name
	return out, f.err
}

func (f *fakeBackend) DryRun(_ context.Context, w *v1.Workload, o Request) (v1.Accepted, error) {
	f.seen = o
	return v1.Accepted{Name: w.Metadata.Name, Generation: 2, Changed: "updated", DryRun: true, ChangedFields: []string{"spec.image"}}, f.err
}

func (f *fakeBackend) Do(_ context.Context, name string, _ v1.Verb, o Request) (v1.Accepted, error) {
	f.seen = o
	return v1.Accepted{
		Name: name, Generation: 2, Seq: 5, RequestID: o.ID,
		Kept: []v1.Kept{{Kind: v1.KeptVolume, Host: "h1", Name: "data", Ref: "berth.f.h1.web.data"}},
	}, f.err
}

func (f *fakeBackend) Workload(_ context.Context, _ string, secrets bool) (v1.View, error) {
	f.secrets = secrets
	return sampleView(), f.err
}

func (f *fakeBackend) Workloads(_ context.Context, q WorkloadQuery) (v1.WorkloadList, error) {
	f.query = q
	return v1.WorkloadList{Items: []v1.View{sampleView()}, NextPageToken: "bmV4dA"}, f.err
}

func (f *fakeBackend) Logs(context.Context, string, int) (v1.Logs, error) {
	return v1.Logs{Lines: []string{"one", "two"}, Truncated: true}, f.err
}

func (f *fakeBackend) ChangeHost(_ context.Context, name string, c contract.HostChange) (v1.Host, error) {
	f.change = c
	return sampleHost(name), f.err
}

func (f *fakeBackend) AskHost(_ context.Context, name, _ string) (v1.Host, error) {
	return sampleHost(name), f.err
}

func (f *fakeBackend) Host(_ context.Context, name string) (v1.Host, error) {
	return sampleHost(name), f.err
}

func (f *fakeBackend) Hosts(context.Context, Page) (v1.HostList, error) {
	return v1.HostList{Items: []v1.Host{sampleHost("h1")}, NextPageToken: "bmV4dA"}, f.err
}

func sampleAction() v1.Action {
	return v1.Action{
		ID: "workload/web/deploy/7", RunID: "r", Workload: "web", Kind: v1.KindVM, Verb: v1.VerbStart, Host: "h1", Fence: 7, Generation: 2,
		Attempts: 3, Outcome: v1.OutcomeFailed, Reason: v1.ReasonBootTimeout, Message: "m", Step: "AwaitReady", CreatedAt: at, StartedAt: at,
		EndedAt: &at,
	}
}

func (f *fakeBackend) Actions(_ context.Context, q ActionQuery) (v1.ActionList, error) {
	f.actions = q
	return v1.ActionList{Items: []v1.Action{sampleAction()}, NextPageToken: "bmV4dA", Notes: []string{"n"}}, f.err
}

func (f *fakeBackend) Action(_ context.Context, id string) (v1.ActionView, error) {
	view := v1.ActionView{Action: sampleAction(), Links: map[string]string{"self": "/v1/actions/" + id}, Notes: []string{"n"}}
	view.ID = id
	view.Steps = []v1.ActionStep{{
		Step: "vm.Prepare", Outcome: v1.OutcomeRunning, Attempts: 2, BegunAt: at, StartedAt: &at, EndedAt: &at, Bytes: 5, Found: "f",
		Kept: []string{"k"}, Failure: &v1.StepFailure{Reason: v1.ReasonFetchStalled, Message: "m", Advice: "a"},
		Progress: &v1.Progress{Step: "vm.Prepare", Done: 5},
	}}
	return view, f.err
}

func sampleSweep() v1.Sweep {
	return v1.Sweep{
		ID: "0198c3c1-7b5e-7a52-8f57-3c2f3f0c7d11", State: v1.SweepFailed, Message: "m", StartedAt: at, EndedAt: &at,
		Request:       v1.SweepRequest{Delete: true, Grace: v1.Duration(time.Minute), Hosts: []string{"h1"}, AllowMany: true},
		Summary:       v1.SweepSummary{Hosts: 3, Unreachable: 1, Orphaned: 2, Deleted: 1, SkippedLive: 7, SkippedGrace: 1, Unexplained: 1, Repaired: 1, Failed: 1},
		Hosts:         []v1.SweepHost{{Name: "h2", Things: 4, Unreachable: true, Message: "m"}},
		NextPageToken: "100",
		Things: []v1.SweepThing{{
			Host: "h1", Kind: "disk", Name: "workloads/web/disk-root.qcow2", Workload: "web", Generation: 2, Fence: 7, Age: v1.Duration(time.Hour),
			Size: 1 << 30, Verdict: v1.VerdictUnexplained, Message: "m",
		}},
	}
}

func (f *fakeBackend) StartSweep(_ context.Context, r v1.SweepRequest, key string) (v1.Sweep, error) {
	f.sweep, f.seen.ID = r, key
	return sampleSweep(), f.err
}

func (f *fakeBackend) Sweep(_ context.Context, id string, page Page) (v1.Sweep, error) {
	f.sweepID, f.page = id, page
	return sampleSweep(), f.err
}

func (f *fakeBackend) SweepSchedule(context.Context) (v1.SweepSchedule, error) {
	return v1.SweepSchedule{
		Paused: true, Interval: v1.Duration(time.Minute), Request: v1.SweepRequest{Delete: true}, NextRun: &at, LastRun: &at, Skipped: 2, Note: "n",
	}, f.err
}

func (f *fakeBackend) ChangeSweepSchedule(ctx context.Context, change v1.SweepScheduleChange) (v1.SweepSchedule, error) {
	f.schedule = change
	return f.SweepSchedule(ctx)
}

func sampleEvent() v1.Event {
	code := 1
	return v1.Event{
		ID: "01234567-0123-0123-0123-0123456789ab.5.1", At: at, Type: v1.EventEnded, Message: "m", Phase: v1.PhaseRemoved,
		Reason: v1.ReasonExited, Host: "h1", Verb: v1.VerbRemove, Action: "workload/web/remove/7", Outcome: v1.OutcomeSucceeded,
		Generation: 2, RequestID: "r", ExitCode: &code,
	}
}

func (f *fakeBackend) Events(context.Context, string, Page) (v1.EventList, error) {
	return v1.EventList{Items: []v1.Event{sampleEvent()}, NextPageToken: "bmV4dA"}, f.err
}

func (f *fakeBackend) Watch(_ context.Context, _, after string, tail int) (Watch, error) {
	f.after, f.tail = after, tail
	if f.watch != nil || f.nothing {
		return f.watch, f.err
	}
	return func(_ context.Context, emit func(v1.Event) error) error { return emit(sampleEvent()) }, f.err
}

func (f *fakeBackend) Checks(context.Context) []v1.Check { return f.checks }

// open is the API without tokens, as on loopback.
func open(f *fakeBackend) http.Handler {
	return NewHandler(Config{}.withDefaults(), Dependencies{Backend: f, Logger: discard()})
}

// ask sends one request; header is pairs of names and values.
func ask(t *testing.T, h http.Handler, method, target, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:8080"+target, reader)
	require.Zero(t, len(header)%2)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
