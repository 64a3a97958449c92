package rest

import (
	"strings"

	"github.com/gin-gonic/gin"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// listActions shows actions of the whole fleet, newest first.
func (s *server) listActions(c *gin.Context) (answer, error) {
	p := params{c: c}
	q := ActionQuery{
		Page: p.page(), Workload: p.queryName("workload"), Host: p.queryName("host"), Since: p.time("since"), Until: p.time("until"),
		Verb: oneOf(&p, "verb", v1.VerbDeploy, v1.VerbStart, v1.VerbRestart, v1.VerbRetry, v1.VerbRelocate, v1.VerbStop,
			v1.VerbRemove),
		Outcome: oneOf(&p, "status", v1.OutcomeRunning, v1.OutcomeSucceeded, v1.OutcomeFailed, v1.OutcomeSuperseded),
	}
	if !q.Since.IsZero() && !q.Until.IsZero() && q.Since.After(q.Until) {
		p.errs = append(p.errs, invalid("since", "is later than until")...)
	}
	if err := p.err(); err != nil {
		return answer{}, err
	}
	list, err := s.Backend.Actions(c.Request.Context(), q)
	if err != nil {
		return answer{}, err
	}
	return ok(list)
}

// getAction shows one action with its steps. Its id has slashes: they may stand in the path as they are, or escaped.
func (s *server) getAction(c *gin.Context) (answer, error) {
	id := strings.TrimPrefix(c.Param("id"), "/")
	if _, _, _, known := contract.ParseActionID(id); !known {
		return answer{}, invalid("id", "is not the id of an action, as workload/web/deploy/1700000000001")
	}
	view, err := s.Backend.Action(c.Request.Context(), id)
	if err != nil {
		return answer{}, err
	}
	return ok(view)
}
