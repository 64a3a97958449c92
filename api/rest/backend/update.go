package backend

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/berth-dev/berth/api/rest"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	maxTries = 5
	tryPause = 50 * time.Millisecond
)

// Do records a verb. Without an open workload it is NotFound.
func (b *Backend) Do(ctx context.Context, name string, verb v1.Verb, o rest.Request) (v1.Accepted, error) {
	return b.update(ctx, name, string(verb), o.ID, contract.VerbRequest{
		RequestID: o.ID, IfGeneration: o.IfGeneration, Force: o.Force, Volumes: o.Volumes,
	})
}

// update sends one of Workload's updates to the open run and waits for its answer.
func (b *Backend) update(ctx context.Context, name, update, id string, request any) (v1.Accepted, error) {
	ctx, cancel := context.WithTimeout(ctx, b.AnswerWithin)
	defer cancel()
	accepted, err := retry(ctx, cutShort, func() (contract.Accepted, error) {
		handle, err := b.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			WorkflowID: contract.WorkloadID(name), UpdateID: id, UpdateName: update, Args: []any{request},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		if err != nil {
			return contract.Accepted{}, err
		}
		var accepted contract.Accepted
		err = handle.Get(ctx, &accepted)
		return accepted, err
	})
	switch {
	case err == nil:
		for i, k := range accepted.Kept {
			if k.Kind == v1.KeptVolume {
				accepted.Kept[i].Ref = contract.RuntimeName(b.Fleet, k.Host, name, k.Name)
			}
		}
		return answer(name, id, accepted), nil
	case isNotFound(err):
		return v1.Accepted{}, notFound("workload", name)
	case noAnswer(err):
		return v1.Accepted{}, silence(b.AnswerWithin, id)
	default:
		return v1.Accepted{}, fault(err)
	}
}

// retry repeats a call for as long as its failure is one that the next try may not meet, a few times.
func retry(ctx context.Context, again func(error) bool, call func() (contract.Accepted, error)) (contract.Accepted, error) {
	for try := 1; ; try++ {
		accepted, err := call()
		if err == nil || try == maxTries || !again(err) {
			return accepted, err
		}
		select {
		case <-ctx.Done():
			return accepted, ctx.Err()
		case <-time.After(time.Duration(try) * tryPause):
		}
	}
}

func answer(name, id string, a contract.Accepted) v1.Accepted {
	return v1.Accepted{
		Name: name, Generation: a.Generation, Changed: string(a.Changed), Seq: a.Seq, RequestID: id, Kept: a.Kept,
	}
}
