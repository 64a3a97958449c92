// Package inventory says what a host holds with its own mark, and removes what belongs to nobody. Each kind of thing has a
// Source that knows how to list it and how to look at one again.
package inventory

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/berth-dev/berth/activities/failpoint"
	"github.com/berth-dev/berth/activities/record"
	"github.com/berth-dev/berth/activities/step"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	// beatEvery is how often an activity shows that it is at work.
	beatEvery = 2 * time.Second
	// listLife is how long a list serves the pages that follow the first.
	listLife = time.Minute
)

// Source lists things of some kinds, and removes one. It is safe for concurrent use.
type Source interface {
	// Kinds are those that it knows.
	Kinds() []contract.ThingKind
	// Inventory returns everything of a kind that carries the fleet's and the host's mark, in any order. What could not be
	// listed whole is an error: nothing is concluded from a part.
	Inventory(ctx context.Context, kind contract.ThingKind) ([]contract.Thing, error)
	// Discard removes an orphan of one of its kinds. It runs under the workload's lock, looks at the thing again first, and
	// says why it was kept if it is not what it was. One that is gone is no failure.
	Discard(ctx context.Context, c *step.Call, o contract.Orphan) (kept string, err error)
}

// Activities run on the host's control queue.
type Activities struct {
	Host    string
	Store   *record.Store
	Runner  *step.Runner
	Sources []Source
	// Rewound is when the host last saw that the fleet had forgotten what it knew; zero if it never did.
	Rewound func() time.Time
	Log     *slog.Logger

	mu   sync.Mutex
	list map[contract.ThingKind]listed
}

type listed struct {
	things []contract.Thing
	err    error
	at     time.Time
}

// Inventory returns one page of what the host holds, in the order of kind and name.
func (a *Activities) Inventory(ctx context.Context, in contract.InventoryIn) (contract.InventoryOut, error) {
	defer beat(ctx)()
	failpoint.Hit(contract.ActivityInventory+".begin", a.Host)
	if in.After == "" {
		a.restoreRecords()
	}
	var out contract.InventoryOut
	if at := a.Rewound(); !at.IsZero() {
		out.Rewound = at.UnixMilli()
	}
	afterKind, _, _ := strings.Cut(in.After, "/")
	for _, kind := range a.kinds() {
		if string(kind) < afterKind {
			continue
		}
		things, err := a.things(ctx, kind, in.After != "")
		if ctx.Err() != nil {
			return contract.InventoryOut{}, context.Cause(ctx)
		}
		if err != nil {
			a.Log.Warn("a kind of things could not be listed for a sweep", "kind", kind, "error", err)
			if out.Unread == nil {
				out.Unread = map[contract.ThingKind]string{}
			}
			out.Unread[kind] = contract.FromActivityError(err).Message
			continue
		}
		for _, t := range things {
			key := key(t)
			if key <= in.After {
				continue
			}
			if len(out.Things) == in.Limit {
				return out, nil
			}
			out.Things, out.Next = append(out.Things, t), key
		}
	}
	out.Next = ""
	return out, nil
}

// restoreRecords writes records again whose files somebody has removed or replaced, so that they are there when the agent starts
// again.
func (a *Activities) restoreRecords() {
	restored, err := a.Store.Restore()
	if len(restored) > 0 {
		a.Log.Warn("records were removed or changed on disk; they are written again", "workloads", restored)
	}
	if err != nil {
		a.Log.Warn("records that were removed or changed on disk could not be written again; the next sweep tries it", "error", err)
	}
}

// key orders things. Kinds have no slash, so the key of a kind's things begins alike.
func key(t contract.Thing) string { return string(t.Kind) + "/" + t.Name }

func (a *Activities) kinds() []contract.ThingKind {
	var all []contract.ThingKind
	for _, s := range a.Sources {
		all = append(all, s.Kinds()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// things lists a kind, or takes the list that an earlier page was made from.
func (a *Activities) things(ctx context.Context, kind contract.ThingKind, again bool) ([]contract.Thing, error) {
	a.mu.Lock()
	before, ok := a.list[kind]
	a.mu.Unlock()
	if again && ok && time.Since(before.at) < listLife {
		return before.things, before.err
	}
	now := listed{at: time.Now()}
	for _, s := range a.Sources {
		if !slices.Contains(s.Kinds(), kind) {
			continue
		}
		things, err := s.Inventory(ctx, kind)
		if err != nil {
			now = listed{err: err, at: now.at}
			break
		}
		now.things = append(now.things, things...)
	}
	for i := range now.things {
		a.checkRecord(&now.things[i])
	}
	slices.SortFunc(now.things, func(a, b contract.Thing) int { return strings.Compare(key(a), key(b)) })
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.list == nil {
		a.list = map[contract.ThingKind]listed{}
	}
	a.list[kind] = now
	return now.things, now.err
}

// checkRecord marks a thing whose workload's record can't be read: nobody can say what was last done with it. It also marks
// volumes that the last remove kept.
func (a *Activities) checkRecord(t *contract.Thing) {
	if t.Workload == "" || t.Odd != "" {
		return
	}
	rec, err := a.Store.Get(t.Workload)
	if err != nil {
		t.Odd = "the host's record of its workload can't be read"
		return
	}
	t.Kept = kept(rec, *t)
}

// kept reports whether a volume was kept when its workload was removed: no remove since it was made was to take volumes too.
func kept(rec record.Record, t contract.Thing) bool {
	return t.Kind == contract.ThingVolume && rec.Tombstone() && rec.DropVolumes < t.Fence
}

// beat heartbeats until the returned function is called.
func beat(ctx context.Context) (stop func()) {
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(beatEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				activity.RecordHeartbeat(ctx)
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// sourceOf finds who knows a kind of things.
func (a *Activities) sourceOf(kind contract.ThingKind) (Source, error) {
	for _, s := range a.Sources {
		if slices.Contains(s.Kinds(), kind) {
			return s, nil
		}
	}
	return nil, fmt.Errorf("this host knows no things of kind %q", kind)
}
