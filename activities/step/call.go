package step

import (
	"context"
	"sync"

	"github.com/berth-dev/berth/activities/failpoint"
	"github.com/berth-dev/berth/activities/record"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Call is one step under way.
type Call struct {
	In contract.StepIn
	// Dir is the workload's directory on this host. It exists in exclusive steps.
	Dir string
	// Record is the workload's record as the step found it. Exclusive steps may change it with Save.
	Record record.Record

	store     *record.Store
	exclusive bool
	// mayAct, if set, says why the host must not change anything now; mayStart, why it must not start this workload.
	mayAct, mayStart func() error
	mu               sync.Mutex
	progress         v1.Progress
	// moved is the sum of what was moved before the last Progress.
	moved int64
}

// Progress says how far the step is. It is cheap: it is sent with the next heartbeat.
func (c *Call) Progress(p v1.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := c.progress; p.Detail != last.Detail || p.Unit != last.Unit || p.Done < last.Done {
		c.moved += bytesOf(last)
	}
	c.progress = p
}

// bytes is how much data the step has said to have moved.
func (c *Call) bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.moved + bytesOf(c.progress)
}

func bytesOf(p v1.Progress) int64 {
	if p.Unit != "" {
		return 0
	}
	return p.Done
}

func (c *Call) lastProgress() v1.Progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.progress
}

// Mutate does one mutation, named for failpoints and errors, for example "container.create". Immediately before, it checks
// that no later action has been seen on this host, and that the step was not cancelled.
func (c *Call) Mutate(ctx context.Context, name string, mutation func(ctx context.Context) error) error {
	if !c.exclusive {
		return contract.Permanent(v1.ReasonInternal, "report this", "%s mutates outside an exclusive step", name)
	}
	failpoint.Hit(name+".before", c.In.Ref.Workload)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if c.mayAct != nil {
		if err := c.mayAct(); err != nil {
			return err
		}
	}
	if err := c.checkFence(); err != nil {
		return err
	}
	if c.mayStart != nil {
		if err := c.mayStart(); err != nil {
			return err
		}
	}
	if err := mutation(ctx); err != nil {
		return err
	}
	failpoint.Hit(name+".after", c.In.Ref.Workload)
	return nil
}

// Save changes the record durably.
func (c *Call) Save(change func(*record.Record)) error {
	r, err := c.store.Get(c.In.Ref.Workload)
	if err != nil {
		return err
	}
	change(&r)
	if err := c.store.Put(r); err != nil {
		return err
	}
	c.Record = r
	return nil
}

func (c *Call) checkFence() error {
	r, err := c.store.Get(c.In.Ref.Workload)
	if err != nil {
		return err
	}
	if r.Fence > c.In.Ref.Fence {
		return contract.StaleFence(c.In.Ref.Fence, r.Fence)
	}
	return nil
}
