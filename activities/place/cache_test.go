package place

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
	"github.com/berth-dev/berth/workflows/placement"
)

// reader is what the cache reads from, and how often it did.
type reader struct {
	reads atomic.Int32
	err   error
}

func (r *reader) read(context.Context) ([]v1.Host, error) {
	r.reads.Add(1)
	if r.err != nil {
		return nil, r.err
	}
	host := func(name string) v1.Host {
		return v1.Host{Name: name, State: v1.HostOnline, Capacity: v1.Amounts{Memory: 100}}
	}
	return []v1.Host{host("a"), host("b")}, nil
}

func TestABurstReadsTheHostsOnceAndSpreads(t *testing.T) {
	var c hostCache
	var r reader
	var placing sync.WaitGroup
	var mu sync.Mutex
	on := map[string]int{}
	for range 20 {
		placing.Go(func() {
			mu.Lock() // one grant at a time: the order between callers is theirs
			defer mu.Unlock()
			hosts, err := c.get(t.Context(), time.Time{}, r.read)
			require.NoError(t, err)
			best, _ := placement.Rank(hosts, contract.Needs{}, nil)
			c.granted(best[0], v1.Amounts{Memory: 1})
			on[best[0]]++
		})
	}
	placing.Wait()
	require.LessOrEqual(t, r.reads.Load(), int32(2), "a second one if a second has passed")
	require.Positive(t, on["a"])
	require.Positive(t, on["b"])
	if r.reads.Load() == 1 {
		require.Equal(t, map[string]int{"a": 10, "b": 10}, on)
	}
}

func TestTheHostsAreReadAgain(t *testing.T) {
	for name, spoil := range map[string]func(*hostCache) time.Time{
		"after a refusal":             func(c *hostCache) time.Time { c.refused(); return time.Time{} },
		"for who needs a later state": func(*hostCache) time.Time { return time.Now() },
		"after a while":               func(c *hostCache) time.Time { c.at = c.at.Add(-listLife); return time.Time{} },
	} {
		t.Run(name, func(t *testing.T) {
			var c hostCache
			var r reader
			_, err := c.get(t.Context(), time.Time{}, r.read)
			require.NoError(t, err)
			c.granted("a", v1.Amounts{Memory: 7})
			hosts, err := c.get(t.Context(), spoil(&c), r.read)
			require.NoError(t, err)
			require.EqualValues(t, 2, r.reads.Load())
			require.Zero(t, hosts[0].Reserved.Memory, "the hosts' own word counts")
		})
	}
}

func TestAFailureToReadIsNotKept(t *testing.T) {
	var c hostCache
	r := reader{err: errors.New("away")}
	_, err := c.get(t.Context(), time.Time{}, r.read)
	require.ErrorIs(t, err, r.err)
	r.err = nil
	hosts, err := c.get(t.Context(), time.Time{}, r.read)
	require.NoError(t, err)
	require.Len(t, hosts, 2)
}
