package temporal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/berth-dev/berth/workflows/contract"
)

// pollEvery is how often waiting functions of this package look again.
const pollEvery = 100 * time.Millisecond

// CheckNamespace fails unless the namespace exists.
func CheckNamespace(ctx context.Context, c client.Client, namespace string) error {
	_, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	var missing *serviceerror.NamespaceNotFound
	if errors.As(err, &missing) {
		return fmt.Errorf("the namespace %q does not exist: make it with `temporal operator namespace create %s`", namespace, namespace)
	}
	if err != nil {
		return fmt.Errorf("describe the namespace %q: %w", namespace, err)
	}
	return nil
}

// MissingSearchAttributes returns the names of Berth's search attributes that the namespace lacks, sorted. One that
// exists with another type is an error: nothing but its removal by hand would help.
func MissingSearchAttributes(ctx context.Context, c client.Client, namespace string) ([]string, error) {
	have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return nil, fmt.Errorf("list the search attributes of namespace %q: %w", namespace, err)
	}
	var missing []string
	for _, want := range contract.SearchAttributes() {
		got, known := have.GetCustomAttributes()[want.GetName()]
		switch {
		case !known:
			missing = append(missing, want.GetName())
		case got != want.GetValueType():
			return nil, fmt.Errorf("the search attribute %s of namespace %q is %s and should be %s: remove it first",
				want.GetName(), namespace, got, want.GetValueType())
		}
	}
	slices.Sort(missing)
	return missing, nil
}

// EnsureSearchAttributes adds the search attributes that the namespace lacks, and waits until the server knows them: a
// cluster lists them at once, and takes them some seconds later. Several processes may do so at once.
func EnsureSearchAttributes(ctx context.Context, c client.Client, namespace string) error {
	for {
		missing, err := MissingSearchAttributes(ctx, c, namespace)
		if err != nil {
			return err
		}
		if len(missing) == 0 {
			return awaitSearchAttributes(ctx, c, namespace)
		}
		add := make(map[string]enumspb.IndexedValueType, len(missing))
		for _, key := range contract.SearchAttributes() {
			if slices.Contains(missing, key.GetName()) {
				add[key.GetName()] = key.GetValueType()
			}
		}
		_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
			Namespace: namespace, SearchAttributes: add,
		})
		var exists *serviceerror.AlreadyExists
		if err != nil && !errors.As(err, &exists) {
			return fmt.Errorf("add search attributes %v to namespace %q: %w", missing, namespace, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for search attributes %v: %w", missing, ctx.Err())
		case <-time.After(pollEvery):
		}
	}
}

// awaitSearchAttributes waits until the server takes all of Berth's search attributes.
func awaitSearchAttributes(ctx context.Context, c client.Client, namespace string) error {
	var terms []string
	for _, key := range contract.SearchAttributes() {
		terms = append(terms, key.GetName()+" IS NULL")
	}
	query := strings.Join(terms, " AND ")
	for {
		_, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace, Query: query})
		var unknown *serviceerror.InvalidArgument
		switch {
		case err == nil:
			return nil
		case !errors.As(err, &unknown):
			return fmt.Errorf("look for the search attributes of namespace %q: %w", namespace, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until namespace %q takes its search attributes: %w", namespace, errors.Join(err, ctx.Err()))
		case <-time.After(pollEvery):
		}
	}
}

// EnsureRetention sets how long the namespace keeps the histories of closed workflows, if it keeps them otherwise. Zero
// leaves it as it is.
func EnsureRetention(ctx context.Context, c client.Client, namespace string, keep time.Duration) error {
	if keep == 0 {
		return nil
	}
	have, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("describe the namespace %q: %w", namespace, err)
	}
	if have.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration() == keep {
		return nil
	}
	_, err = c.WorkflowService().UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace: namespace,
		Config:    &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(keep)},
	})
	if err != nil {
		return fmt.Errorf("set the retention of namespace %q: %w", namespace, err)
	}
	return nil
}
