package backend

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/berth-dev/berth/api/rest"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// memoKey is the memo field with the Idempotency-Key of the request that started a sweep.
const memoKey = "key"

// StartSweep starts a sweep, unless one runs. A repeat with the same key finds the one that it started.
func (b *Backend) StartSweep(ctx context.Context, r v1.SweepRequest, key string) (v1.Sweep, error) {
	ctx, cancel := context.WithTimeout(ctx, b.AnswerWithin)
	defer cancel()
	if err := b.checkHosts(ctx, r.Hosts); err != nil {
		return v1.Sweep{}, err
	}
	r.Default()
	run, err := b.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: contract.SweepID, TaskQueue: contract.ControlPlaneQueue, WorkflowRunTimeout: contract.SweepLimit,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		Memo:                                     map[string]any{memoKey: key},
	}, contract.WorkflowSweep, contract.SweepInput{Request: r})
	var running *serviceerror.WorkflowExecutionAlreadyStarted
	switch {
	case errors.As(err, &running):
		return b.runningSweep(ctx, running.RunId, key)
	case err != nil:
		return v1.Sweep{}, fault(err)
	}
	return b.Sweep(ctx, run.GetRunID(), rest.Page{Size: 1})
}

// checkHosts fails with v1.FieldErrors if the fleet has no hosts of these names, so that nobody waits for a sweep of none.
func (b *Backend) checkHosts(ctx context.Context, hosts []string) error {
	var wrong v1.FieldErrors
	for i, name := range hosts {
		_, err := b.open(ctx, contract.HostID(name), "host", name)
		switch {
		case contract.ReasonOf(err) == v1.ReasonNotFound:
			wrong = append(wrong, v1.FieldError{
				Path: v1.Path(fmt.Sprintf("hosts[%d]", i)), Reason: v1.ReasonInvalid, Message: fmt.Sprintf("there is no host %q; see `berth hosts`", name),
			})
		case err != nil:
			return err
		}
	}
	if len(wrong) > 0 {
		return wrong
	}
	return nil
}

// runningSweep is the answer to who finds a sweep running: it may be his own.
func (b *Backend) runningSweep(ctx context.Context, id, key string) (v1.Sweep, error) {
	info, err := b.Client.DescribeWorkflow(ctx, contract.SweepID, id)
	if err != nil {
		return v1.Sweep{}, fault(err)
	}
	var own string
	if _, err := b.memo(info.RawResponse.GetWorkflowExecutionInfo().GetMemo(), memoKey, &own); err != nil {
		return v1.Sweep{}, err
	}
	if own == key {
		return b.Sweep(ctx, id, rest.Page{Size: 1})
	}
	return v1.Sweep{}, contract.Permanent(v1.ReasonSweepRunning, "wait until it is done: `berth sweep` shows it", "a sweep runs already, %s", id)
}

// Sweep returns one sweep, with a page of its things. An empty id is the latest. The things need a worker; without one they
// are left out.
func (b *Backend) Sweep(ctx context.Context, id string, p rest.Page) (v1.Sweep, error) {
	offset, err := sweepOffset(p.Token)
	if err != nil {
		return v1.Sweep{}, err
	}
	resp, err := b.Client.DescribeWorkflow(ctx, contract.SweepID, id)
	var bad *serviceerror.InvalidArgument
	switch {
	case isNotFound(err), errors.As(err, &bad):
		return v1.Sweep{}, notFound("sweep", id)
	case err != nil:
		return v1.Sweep{}, fault(err)
	}
	info := resp.RawResponse.GetWorkflowExecutionInfo()
	sweep := v1.Sweep{StartedAt: info.GetStartTime().AsTime()}
	if _, err := b.memo(info.GetMemo(), contract.MemoSweep, &sweep); err != nil {
		return v1.Sweep{}, err
	}
	sweep.ID = info.GetExecution().GetRunId()
	if full, err := b.sweepThings(ctx, sweep.ID, offset, p.Size); err == nil {
		sweep.Things, sweep.NextPageToken = full.Things, full.NextPageToken
	}
	sweep.State = sweepState(info.GetStatus())
	if sweep.State != v1.SweepRunning && sweep.EndedAt == nil {
		at := info.GetCloseTime().AsTime()
		sweep.EndedAt = &at
		sweep.Message = fmt.Sprintf("its workflow was ended from outside: %s", info.GetStatus())
	}
	return sweep, nil
}

func (b *Backend) sweepThings(ctx context.Context, id string, offset, limit int) (v1.Sweep, error) {
	ctx, cancel := context.WithTimeout(ctx, b.AnswerWithin)
	defer cancel()
	resp, err := b.Client.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
		WorkflowID: contract.SweepID, RunID: id, QueryType: contract.QuerySweep,
		Args: []any{contract.SweepPage{Offset: offset, Limit: limit}},
	})
	var out v1.Sweep
	if err == nil {
		err = resp.QueryResult.Get(&out)
	}
	return out, err
}

func sweepState(s enumspb.WorkflowExecutionStatus) v1.SweepState {
	switch s {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		return v1.SweepRunning
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return v1.SweepSucceeded
	default:
		return v1.SweepFailed
	}
}

// sweepOffset reads a page token: how many things come before the page.
func sweepOffset(token string) (int, error) {
	if token == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(token)
	if err != nil || n < 0 {
		return 0, v1.FieldErrors{{Path: "pageToken", Reason: v1.ReasonInvalid, Message: "is not a token that this API gave out"}}
	}
	return n, nil
}
