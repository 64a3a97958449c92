package backend

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/berth-dev/berth/api/rest"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// memoRequest holds the id of the request that began a workload's first run.
const memoRequest = "request"

// Apply records the workload by update-with-start: the request is also the start input, so that a run that nobody has
// served yet will apply it by itself. With o.MustExist or o.IfGeneration it is a plain update.
func (b *Backend) Apply(ctx context.Context, w *v1.Workload, o rest.Request) (rest.Applied, error) {
	request := contract.ApplyRequest{RequestID: o.ID, Workload: *w, IfGeneration: o.IfGeneration}
	name := w.Metadata.Name
	if o.MustExist || o.IfGeneration != nil {
		accepted, err := b.update(ctx, name, contract.UpdateApply, o.ID, request)
		return rest.Applied{Accepted: accepted}, err
	}
	within, cancel := context.WithTimeout(ctx, b.AnswerWithin)
	defer cancel()
	accepted, err := retry(within, closedUnder, func() (contract.Accepted, error) {
		return b.applyOnce(within, request)
	})
	switch {
	case err == nil:
		return rest.Applied{Accepted: answer(name, o.ID, accepted)}, nil
	case !noAnswer(err):
		return rest.Applied{}, fault(err)
	case b.begunBy(ctx, name, o.ID):
		return rest.Applied{
			Accepted: answer(name, o.ID, contract.Accepted{Generation: 1, Changed: contract.ChangedCreated}),
			Started:  true,
		}, nil
	default:
		return rest.Applied{}, silence(b.AnswerWithin, o.ID)
	}
}

func (b *Backend) applyOnce(ctx context.Context, request contract.ApplyRequest) (contract.Accepted, error) {
	handle, err := b.Client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: b.startOperation(request),
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateID: request.RequestID, UpdateName: contract.UpdateApply, Args: []any{request},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	if err != nil {
		return contract.Accepted{}, err
	}
	var accepted contract.Accepted
	err = handle.Get(ctx, &accepted)
	return accepted, err
}

// startOperation gives a new workload what lists and Describe show before any worker has seen it.
func (b *Backend) startOperation(request contract.ApplyRequest) client.WithStartWorkflowOperation {
	w := request.Workload
	now := time.Now().UTC()
	status := v1.Status{Phase: v1.PhasePending, Generation: 1, CreatedAt: now, ChangedAt: now}
	if spec := w.Spec(); spec != nil {
		status.Type = spec.Type
	}
	attributes := []temporal.SearchAttributeUpdate{
		contract.AttrWorkload.ValueSet(w.Metadata.Name),
		contract.AttrKind.ValueSet(string(w.Kind)),
		contract.AttrPhase.ValueSet(string(v1.PhasePending)),
		contract.AttrGeneration.ValueSet(1),
	}
	if terms := labelTerms(w.Metadata.Labels); len(terms) > 0 {
		attributes = append(attributes, contract.AttrLabels.ValueSet(terms))
	}
	return b.Client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID:                       contract.WorkloadID(w.Metadata.Name),
		TaskQueue:                contract.ControlPlaneQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            string(w.Kind) + " " + w.Metadata.Name,
		TypedSearchAttributes:    temporal.NewSearchAttributes(attributes...),
		Memo: map[string]any{
			contract.MemoStatus: status,
			contract.MemoMeta:   contract.WorkloadMeta{Kind: w.Kind, Labels: w.Metadata.Labels},
			memoRequest:         request.RequestID,
		},
	}, contract.WorkflowWorkload, contract.WorkloadInput{Apply: &request, Timings: b.Timings})
}

// begunBy reports whether the workload's open run was begun by the request. The caller's patience may be over, so the
// look has a deadline of its own.
func (b *Backend) begunBy(ctx context.Context, name, requestID string) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryWithin)
	defer cancel()
	info, err := b.describe(ctx, contract.WorkloadID(name))
	if err != nil {
		return false
	}
	var begun string
	found, err := b.memo(info.GetWorkflowExecutionInfo().GetMemo(), memoRequest, &begun)
	return err == nil && found && begun == requestID
}
