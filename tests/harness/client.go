package harness

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/berth-dev/berth/api/client"
	"github.com/berth-dev/berth/api/manifest"
	v1 "github.com/berth-dev/berth/api/v1"
)

// poll is how often waits look again at first: coarse enough to leave the machine to what is tested.
const poll = 25 * time.Millisecond

// Client is a client of the first server. It repeats requests while the server is away.
func (f *Fleet) Client() *client.Client {
	f.t.Helper()
	c, err := client.New(client.Options{Address: f.API, Patience: 3 * time.Minute})
	require.NoError(f.t, err)
	return c
}

// Parse reads a workload as a user writes it.
func (f *Fleet) Parse(yaml string) *v1.Workload {
	f.t.Helper()
	docs, err := manifest.Parse("test.yaml", []byte(yaml))
	require.NoError(f.t, err)
	require.Len(f.t, docs, 1)
	return docs[0].Workload
}

// Apply puts a workload.
func (f *Fleet) Apply(w *v1.Workload) v1.Accepted {
	f.t.Helper()
	a, err := f.Client().Put(f.t.Context(), w, false, client.Change{})
	require.NoErrorf(f.t, err, "apply %s", w.Metadata.Name)
	return a
}

// Do starts, stops, restarts, retries or removes a workload.
func (f *Fleet) Do(name string, verb v1.Verb) v1.Accepted {
	f.t.Helper()
	a, err := f.Client().Do(f.t.Context(), name, verb, client.Change{})
	require.NoErrorf(f.t, err, "%s %s", verb, name)
	return a
}

// Workload returns a workload as GET shows it.
func (f *Fleet) Workload(name string) v1.View {
	f.t.Helper()
	v, err := f.Client().Get(f.t.Context(), name)
	require.NoErrorf(f.t, err, "get %s", name)
	return f.whole(v, func(v1.View) bool { return true })
}

// whole looks again as long as a view has spec and attempts left out: a worker has a second to tell them, which is too short on a
// slow machine. A view that is not as wanted any more is not taken for it.
func (f *Fleet) whole(v v1.View, wanted func(v1.View) bool) v1.View {
	f.t.Helper()
	c := f.Client()
	for deadline := time.Now().Add(time.Minute); len(v.Notes) > 0 && time.Now().Before(deadline); {
		again, err := c.Get(f.t.Context(), v.Metadata.Name)
		if err != nil || !wanted(again) {
			return v
		}
		v = again
	}
	return v
}

// AwaitPhase waits until a workload is in one of the phases, and returns it.
func (f *Fleet) AwaitPhase(name string, within time.Duration, phases ...v1.Phase) v1.View {
	f.t.Helper()
	return f.AwaitWorkload(name, within, fmt.Sprint("it is ", phases), func(v v1.View) bool {
		return slices.Contains(phases, v.Status.Phase)
	})
}

// AwaitWorkload waits until a workload is as wanted, and returns it. What says in words what was wanted.
func (f *Fleet) AwaitWorkload(name string, within time.Duration, what string, wanted func(v1.View) bool) v1.View {
	f.t.Helper()
	c := f.Client()
	var last v1.View
	var err error
	f.await(within, func() bool {
		last, err = c.Get(f.t.Context(), name)
		return err == nil && wanted(last)
	}, func() string {
		return fmt.Sprintf("workload %s: waited %s until %s; it is %+v (%v)", name, within, what, last.Status, err)
	})
	return f.whole(last, wanted)
}

// AwaitGone waits until a workload is not found any more.
func (f *Fleet) AwaitGone(name string, within time.Duration) {
	f.t.Helper()
	c := f.Client()
	var last v1.View
	var err error
	f.await(within, func() bool {
		last, err = c.Get(f.t.Context(), name)
		return client.IsNotFound(err)
	}, func() string {
		return fmt.Sprintf("workload %s is not gone after %s: %+v (%v)", name, within, last.Status, err)
	})
}

// AwaitHost waits until a host is in this state, and returns it.
func (f *Fleet) AwaitHost(host string, within time.Duration, state v1.HostState) v1.Host {
	f.t.Helper()
	c := f.Client()
	var last v1.Host
	var err error
	f.await(within, func() bool {
		last, err = c.Host(f.t.Context(), host)
		return err == nil && last.State == state
	}, func() string {
		return fmt.Sprintf("host %s is not %s after %s: %+v (%v)", host, state, within, last, err)
	})
	return last
}

// await is require.Eventually, but looks in the test's goroutine, at once, and says at the end what it saw.
func (f *Fleet) await(within time.Duration, done func() bool, saw func() string) {
	f.t.Helper()
	if !holds(done, within, poll) {
		require.FailNow(f.t, strings.TrimSpace(saw()))
	}
}
