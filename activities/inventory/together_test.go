package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"github.com/berth-dev/berth/activities/inventory"
	"github.com/berth-dev/berth/activities/step"
	"github.com/berth-dev/berth/workflows/contract"
)

// slow is a source whose removals of a kind each wait until as many as there can be are under way.
type slow struct {
	kind     contract.ThingKind
	together int

	mu   *sync.Mutex
	done *[]string
	now  int
	peak int
	full chan struct{}
	once sync.Once
}

var _ inventory.Source = (*slow)(nil)

func (s *slow) Kinds() []contract.ThingKind { return []contract.ThingKind{s.kind} }

func (*slow) Inventory(context.Context, contract.ThingKind) ([]contract.Thing, error) {
	return nil, nil
}

func (s *slow) Discard(ctx context.Context, _ *step.Call, o contract.Orphan) (string, error) {
	s.mu.Lock()
	s.now++
	s.peak = max(s.peak, s.now)
	if s.now == s.together {
		s.once.Do(func() { close(s.full) })
	}
	s.mu.Unlock()
	select {
	case <-s.full:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
	*s.done = append(*s.done, string(o.Thing.Kind)+" "+o.Thing.Name)
	if o.Thing.Name == "3" {
		return "", errors.New("it is stuck")
	}
	return "", nil
}

func TestOrphansGoSeveralAtATime(t *testing.T) {
	var mu sync.Mutex
	var done []string
	disks := &slow{kind: contract.ThingDisk, together: 5, mu: &mu, done: &done, full: make(chan struct{})}
	seeds := &slow{kind: contract.ThingSeed, together: 1, mu: &mu, done: &done, full: make(chan struct{})}
	h := newHost(t, disks, seeds)
	var orphans []contract.Orphan
	add := func(kind contract.ThingKind, name, workload string) {
		orphans = append(orphans, contract.Orphan{Proven: true, Thing: contract.Thing{Kind: kind, Name: name, Workload: workload}})
	}
	for i := range 8 {
		add(contract.ThingDisk, fmt.Sprint(i), fmt.Sprintf("w%d", i))
	}
	add(contract.ThingDisk, "8", "w0") // of a workload that has lost another one
	for i := range 3 {
		add(contract.ThingSeed, fmt.Sprint(i), "w0")
	}
	fates := h.discard(orphans...)
	require.Len(t, fates, len(orphans))
	for i, fate := range fates {
		require.Empty(t, fate.Kept, "nobody stood in another's way")
		require.Equal(t, i == 3, fate.Failed != "", "one failure keeps nobody up")
	}
	require.Equal(t, 5, disks.peak, "several at a time, and no more")
	require.Equal(t, 1, seeds.peak, "those of one workload go one after the other")
	require.Len(t, done, len(orphans))
	require.ElementsMatch(t, []string{"seed 0", "seed 1", "seed 2"}, done[9:], "what uses something goes before what it uses")
}

func TestACancelEndsRemovals(t *testing.T) {
	var mu sync.Mutex
	var done []string
	disks := &slow{kind: contract.ThingDisk, together: 99, mu: &mu, done: &done, full: make(chan struct{})}
	h := newHost(t, disks)
	var orphans []contract.Orphan
	for i := range 8 {
		orphans = append(orphans, contract.Orphan{
			Proven: true, Thing: contract.Thing{Kind: contract.ThingDisk, Name: fmt.Sprint(i), Workload: fmt.Sprintf("w%d", i)},
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	env := h.env()
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	over := make(chan error, 1)
	go func() {
		_, err := env.ExecuteActivity(contract.ActivityDiscard, contract.DiscardIn{Orphans: orphans})
		over <- err
	}()
	require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return disks.now == 5 }, time.Minute, time.Millisecond)
	cancel()
	require.Error(t, <-over)
	require.Len(t, done, 5, "what had begun ended, and nothing more began")
}
