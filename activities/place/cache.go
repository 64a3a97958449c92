package place

import (
	"context"
	"sync"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
)

// listLife is how long a list of the hosts is used. To read it costs the server half a millisecond a host, and Visibility is
// behind by as much at times.
const listLife = time.Second

// hostCache keeps the list of the hosts for a moment, and counts what was granted since, so that a burst spreads over the
// hosts. It only says in which order to ask: each host's ledger decides.
type hostCache struct {
	mu    sync.Mutex
	hosts []v1.Host
	at    time.Time // when hosts began to be read; zero if they must be read again
}

// get returns the hosts as they were at since or later, and at most listLife ago. The caller may change the slice, not what
// it leads to. One caller reads for all.
func (c *hostCache) get(ctx context.Context, since time.Time, read func(context.Context) ([]v1.Host, error)) ([]v1.Host, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() || c.at.Before(since) || time.Since(c.at) >= listLife {
		at := time.Now()
		hosts, err := read(ctx)
		if err != nil {
			return nil, err
		}
		c.hosts, c.at = hosts, at
	}
	return append([]v1.Host(nil), c.hosts...), nil
}

// granted counts a grant.
func (c *hostCache) granted(host string, amount v1.Amounts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.hosts {
		if h := &c.hosts[i]; h.Name == host {
			h.Workloads++
			h.Reserved.CPUs += amount.CPUs
			h.Reserved.Memory += amount.Memory
			h.Reserved.Disk += amount.Disk
			return
		}
	}
}

// refused drops the list: some host is not as it says.
func (c *hostCache) refused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = time.Time{}
}
