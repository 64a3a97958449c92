//go:build load

package load_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"

	api "github.com/berth-dev/berth/api/client"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// patience is how long a caller repeats a refused request (429), and waits for its effect. It is long: what takes longer
// counts as lost.
const patience = 5 * time.Minute

// caller is one of those who ask at once. Each has connections of its own.
type caller struct {
	*load
	api *api.Client
	// usual is about how long such a request takes, shared by all callers: nobody looks much sooner, as looking costs too.
	usual *atomic.Int64
}

type act func(ctx context.Context, c *caller, name string) (time.Duration, error)

// phase lets callers work through the names, and reports what that took. One that fails fails the test.
func (l *load) phase(what string, callers int, names []string, do act) {
	l.t.Helper()
	ctx := l.t.Context()
	var usual, next atomic.Int64
	var mu sync.Mutex
	var took []time.Duration
	var failed []string
	before, requests, begin := l.usage(), l.requests(), time.Now()
	var working sync.WaitGroup
	for range callers {
		client, err := api.New(api.Options{Address: l.API, Patience: patience})
		require.NoError(l.t, err)
		c := &caller{load: l, api: client, usual: &usual}
		working.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(names)); i = next.Add(1) - 1 {
				d, err := do(ctx, c, names[i])
				mu.Lock()
				if err != nil {
					failed = append(failed, names[i]+": "+err.Error())
				}
				took = append(took, d)
				mu.Unlock()
			}
		})
	}
	working.Wait()
	elapsed := time.Since(begin)
	l.report(fmt.Sprintf("%-6s %3d callers", what, callers), elapsed, took, before)
	l.reportRequests(requests, len(names))
	require.Emptyf(l.t, failed, "%d of %d failed or were lost", len(failed), len(names))
}

func (c *caller) do(ctx context.Context, name string, verb v1.Verb, phase v1.Phase) (time.Duration, error) {
	sent := time.Now()
	if _, err := c.api.Do(ctx, name, verb, api.Change{}); err != nil {
		return 0, err
	}
	return c.await(ctx, name, sent, phase)
}

// await waits until a workload has come to a phase, and returns the time from sent to then, by the workload's own account:
// how often we look does not lengthen it. It looks at Temporal directly, as the API's answer costs a query as well.
func (c *caller) await(ctx context.Context, name string, sent time.Time, phase v1.Phase) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	wait := time.Duration(c.usual.Load()) - time.Since(sent)
	for {
		select {
		case <-time.After(max(wait, 2*time.Millisecond)):
		case <-ctx.Done():
			return 0, fmt.Errorf("not %s within %s", phase, patience)
		}
		at, status, err := c.look(ctx, name, phase)
		switch {
		case err != nil:
			return 0, err
		case !at.IsZero():
			took := at.Sub(sent)
			usual := c.usual.Load()
			c.usual.Store(usual + (int64(took)-usual)/10) // a race between callers loses one value of many
			return took, nil
		case status.Phase == v1.PhaseFailed || status.Phase == v1.PhaseDegraded || status.Tries > 0:
			return 0, fmt.Errorf("%s: %s %s", status.Phase, status.Reason, status.Message)
		}
		wait = max(5*time.Millisecond, time.Since(sent)/10)
	}
}

// look returns when the workload came to the phase, or zero.
func (c *caller) look(ctx context.Context, name string, phase v1.Phase) (time.Time, v1.Status, error) {
	var status v1.Status
	d, err := c.temporal.DescribeWorkflow(ctx, contract.WorkloadID(name), "")
	if err != nil {
		return time.Time{}, status, err
	}
	if closed := d.RawResponse.GetWorkflowExecutionInfo().GetCloseTime(); closed != nil {
		if phase != v1.PhaseRemoved || d.Status != enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
			return time.Time{}, status, fmt.Errorf("lost: its workflow is %s", d.Status)
		}
		return closed.AsTime(), status, nil
	}
	err = converter.GetDefaultDataConverter().FromPayload(d.RawResponse.GetWorkflowExecutionInfo().GetMemo().GetFields()[contract.MemoStatus], &status)
	if err == nil && status.Phase == phase {
		return status.ChangedAt, status, nil
	}
	return time.Time{}, status, err
}

func (l *load) report(what string, elapsed time.Duration, took []time.Duration, before []usage) {
	l.t.Helper()
	slices.Sort(took)
	at := func(q float64) time.Duration { return took[int(q*float64(len(took)-1))].Round(time.Millisecond) }
	l.t.Logf("%s: %5.1f/s   p50 %v   p99 %v   max %v   (%d in %v)", what, float64(len(took))/elapsed.Seconds(),
		at(0.5), at(0.99), at(1), len(took), elapsed.Round(10*time.Millisecond))
	l.reportUsage(before, elapsed, len(took))
}
