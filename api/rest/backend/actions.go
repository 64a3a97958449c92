package backend

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/berth-dev/berth/api/rest"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// visibilityPage is the size of the pages in which a stretch of time is read whole.
const visibilityPage = 500

// cursor is the last action of a page. Start times never change, and what begins later comes before it: the page after it
// is the same whatever has begun meanwhile.
type cursor struct {
	At time.Time `json:"at"`
	ID string    `json:"id"`
}

// after reports whether an action comes after the cursor in a list, newest first. Equal times are told apart by the id.
func (c cursor) after(a v1.Action) bool {
	return a.StartedAt.Before(c.At) || a.StartedAt.Equal(c.At) && a.ID < c.ID
}

// newestFirst is the order of lists.
func newestFirst(a, b v1.Action) int {
	return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(b.ID, a.ID))
}

// Actions lists actions, newest first: those that Temporal has, and of one workload also those that only its entity still
// knows of.
func (b *Backend) Actions(ctx context.Context, q rest.ActionQuery) (v1.ActionList, error) {
	query := actionTerms(q)
	text, err := query.text()
	if err != nil {
		return v1.ActionList{}, err
	}
	// The ends are no part of the token: they are often made of the time of the call.
	from, err := openCursor(text, q.Token)
	if err != nil {
		return v1.ActionList{}, err
	}
	all, need := span{from: q.Since, to: q.Until}, q.Size+1
	if from != nil {
		all.to = from.At
		ties, err := b.countActions(ctx, text, span{from: from.At, to: from.At})
		if err != nil {
			return v1.ActionList{}, err
		}
		need += ties
	}
	s, err := newestSpan(ctx, all, need, time.Now(), func(ctx context.Context, s span) (int, error) { return b.countActions(ctx, text, s) })
	if err != nil {
		return v1.ActionList{}, err
	}
	items, err := b.readActions(ctx, text, s)
	if err != nil {
		return v1.ActionList{}, err
	}
	list, whole := v1.ActionList{}, s == all
	if q.Workload != "" {
		stretch := q
		if !whole {
			stretch.Since = s.from // what is older comes with a later page
		}
		items, list.Notes = b.withPast(ctx, stretch, items)
	}
	if from != nil {
		items = slices.DeleteFunc(items, func(a v1.Action) bool { return !from.after(a) })
	}
	slices.SortFunc(items, newestFirst)
	if len(items) > q.Size {
		items, whole = items[:q.Size], false
	}
	if !whole && len(items) > 0 {
		last := items[len(items)-1]
		list.NextPageToken = closeCursor(text, cursor{At: last.StartedAt, ID: last.ID})
	}
	list.Items = append([]v1.Action{}, items...)
	return list, nil
}

// actionTerms are the filters of a list, without the times.
func actionTerms(q rest.ActionQuery) visibilityQuery {
	query := visibilityQuery{terms: []string{
		"WorkflowType IN ('" + contract.WorkflowDeploy + "', '" + contract.WorkflowStop + "', '" + contract.WorkflowRemove + "')",
	}}
	query.equal(contract.AttrWorkload.GetName(), q.Workload)
	query.equal(contract.AttrVerb.GetName(), string(q.Verb))
	query.equal(contract.AttrHost.GetName(), q.Host)
	if term := outcomeTerm(q.Outcome); term != "" {
		query.terms = append(query.terms, term)
	}
	return query
}

// outcomeTerm picks actions by how they ended, also those that did not come to say it themselves; see outcomeOf.
func outcomeTerm(outcome v1.Outcome) string {
	said := contract.AttrOutcome.GetName() + " = '" + string(outcome) + "'"
	unsaid := "(" + contract.AttrOutcome.GetName() + " = '" + string(v1.OutcomeRunning) + "' AND ExecutionStatus "
	switch outcome {
	case v1.OutcomeRunning:
		return "ExecutionStatus = 'Running'"
	case v1.OutcomeSucceeded:
		return said
	case v1.OutcomeSuperseded:
		return "(" + said + " OR " + unsaid + "= 'Canceled'))"
	case v1.OutcomeFailed:
		return "(" + said + " OR " + unsaid + "IN ('Terminated', 'TimedOut', 'Failed')))"
	default:
		return ""
	}
}

// text of the query with the times of a span.
func (s span) within(text string) string {
	if !s.from.IsZero() {
		text += " AND StartTime >= '" + s.from.UTC().Format(time.RFC3339Nano) + "'"
	}
	if !s.to.IsZero() {
		text += " AND StartTime <= '" + s.to.UTC().Format(time.RFC3339Nano) + "'"
	}
	return text
}

func (b *Backend) countActions(ctx context.Context, text string, s span) (int, error) {
	answer, err := b.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: s.within(text)})
	if err != nil {
		return 0, fault(err)
	}
	return int(answer.GetCount()), nil
}

// readActions reads all actions of a span.
func (b *Backend) readActions(ctx context.Context, text string, s span) ([]v1.Action, error) {
	var actions []v1.Action
	seen := map[string]bool{}
	err := b.eachExecution(ctx, s.within(text), func(info *workflowpb.WorkflowExecutionInfo) error {
		action, err := b.action(info)
		// A row that changes while pages are read may come again.
		if err == nil && !seen[action.ID] {
			seen[action.ID] = true
			actions = append(actions, action)
		}
		return err
	})
	return actions, err
}

// eachExecution reads all rows of a Visibility query.
func (b *Backend) eachExecution(ctx context.Context, query string, do func(*workflowpb.WorkflowExecutionInfo) error) error {
	var token []byte
	for {
		answer, err := b.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: query, PageSize: visibilityPage, NextPageToken: token,
		})
		if err != nil {
			return fault(err)
		}
		for _, info := range answer.GetExecutions() {
			if err := do(info); err != nil {
				return err
			}
		}
		if token = answer.GetNextPageToken(); len(token) == 0 {
			return nil
		}
	}
}

func closeCursor(query string, c cursor) string {
	data, err := json.Marshal(c)
	if err != nil {
		return "" // a time and a text can be written as JSON
	}
	return pageToken(query, data)
}

func openCursor(query, token string) (*cursor, error) {
	data, err := openPageToken(query, token)
	if err != nil || data == nil {
		return nil, err
	}
	var c cursor
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("read a page token of our own: %w", err)
	}
	return &c, nil
}
