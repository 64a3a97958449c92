package backend

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/berth-dev/berth/api/rest"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// Workloads lists open workloads from Visibility, which may be half a second behind.
func (b *Backend) Workloads(ctx context.Context, q rest.WorkloadQuery) (v1.WorkloadList, error) {
	query := openOf(contract.WorkflowWorkload)
	query.equal(contract.AttrKind.GetName(), string(q.Kind))
	query.equal(contract.AttrPhase.GetName(), string(q.Phase))
	query.equal(contract.AttrHost.GetName(), q.Host)
	for _, term := range labelTerms(q.Labels) {
		query.equal(contract.AttrLabels.GetName(), term)
	}
	infos, next, err := b.page(ctx, query, q.Page)
	if err != nil {
		return v1.WorkloadList{}, err
	}
	list := v1.WorkloadList{Items: make([]v1.View, 0, len(infos)), NextPageToken: next}
	for _, info := range infos {
		view, err := b.view(info)
		if err != nil {
			return v1.WorkloadList{}, err
		}
		list.Items = append(list.Items, view)
	}
	slices.SortFunc(list.Items, func(a, b v1.View) int { return cmp.Compare(a.Metadata.Name, b.Metadata.Name) })
	return list, nil
}

// page reads one page of a Visibility query.
func (b *Backend) page(ctx context.Context, q visibilityQuery, p rest.Page) ([]*workflowpb.WorkflowExecutionInfo, string, error) {
	text, err := q.text()
	if err != nil {
		return nil, "", err
	}
	token, err := openPageToken(text, p.Token)
	if err != nil {
		return nil, "", err
	}
	answer, err := b.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Query: text, PageSize: int32(p.Size), NextPageToken: token,
	})
	if err != nil {
		return nil, "", fault(err)
	}
	return answer.GetExecutions(), pageToken(text, answer.GetNextPageToken()), nil
}

// visibilityQuery is a conjunction of terms.
type visibilityQuery struct {
	terms []string
	err   error
}

func openOf(workflow string) visibilityQuery {
	return visibilityQuery{terms: []string{"WorkflowType = '" + workflow + "'", "ExecutionStatus = 'Running'"}}
}

// equal adds a term, unless the value is empty. A value that could end its quotes is refused, whoever let it through.
func (q *visibilityQuery) equal(attribute, value string) {
	if value == "" {
		return
	}
	if strings.ContainsAny(value, "'\"`\\\x00\n") {
		q.err = fmt.Errorf("a value for %s cannot stand in a query", attribute)
	}
	q.terms = append(q.terms, attribute+" = '"+value+"'")
}

func (q *visibilityQuery) text() (string, error) { return strings.Join(q.terms, " AND "), q.err }

// labelTerms are labels as they stand in the search attribute, in order.
func labelTerms(labels map[string]string) []string {
	terms := make([]string, 0, len(labels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		terms = append(terms, contract.LabelTerm(key, labels[key]))
	}
	return terms
}
