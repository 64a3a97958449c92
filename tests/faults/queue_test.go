package faults

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/queue"
)

// TestNobodyWaitsForNothing holds a workload that was refused everywhere just after it was put into the queue. Whatever
// comes of it then, it must not stay in the queue: everybody else would wait behind it.
func TestNobodyWaitsForNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	for name, happens := range map[string]func(t *testing.T, w *work, place string, a v1.Accepted){
		"the control worker is killed, and the host comes": func(t *testing.T, w *work, place string, a v1.Accepted) {
			f.agent.Start()
			f.AwaitHost(hostName, within, v1.HostOnline)
			f.server.Restart()
			f.Release(place)
			require.NoError(t, w.end(t.Context(), f, verbs["deploy"], a))
			require.NoError(t, (&tried{work: w}).clear(t.Context(), f))
		},
		"it is removed": func(t *testing.T, w *work, place string, _ v1.Accepted) {
			a, err := ask(v1.VerbRemove)(t.Context(), f, w)
			require.NoError(t, err)
			f.Release(place)
			f.agent.Start()
			require.NoError(t, w.end(t.Context(), f, verbs["remove"], a))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f.agent.Kill()
			f.AwaitHost(hostName, within, v1.HostOffline)
			w := f.newWork(scenarioOf("container"))
			place := "Place.end@" + w.name
			f.Arm(place)
			a, err := put(1)(t.Context(), f, w)
			require.NoError(t, err)
			f.AwaitHit(place, within)
			require.NoError(t, f.queued(t.Context(), w.name))
			happens(t, w, place, a)
			require.NoError(t, until(t.Context(), within, func(ctx context.Context) error { return f.queued(ctx) }))
		})
	}
}

// queued complains unless these are in the queue, and nobody else.
func (f *fleet) queued(ctx context.Context, names ...string) error {
	var s queue.State
	value, err := f.temporal.QueryWorkflow(ctx, contract.QueueID, "", contract.QueryQueue)
	var gone *serviceerror.NotFound
	if err == nil {
		err = value.Get(&s)
	}
	if err != nil && !errors.As(err, &gone) {
		return err
	}
	missing := 0
	for _, name := range names {
		if _, waits := s.Waiting[name]; !waits {
			missing++
		}
	}
	if missing > 0 || len(s.Waiting) != len(names) {
		return fmt.Errorf("in the queue are %v, not %v", s.Waiting, names)
	}
	return nil
}
