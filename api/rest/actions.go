package rest

import (
	"github.com/gin-gonic/gin"

	v1 "github.com/berth-dev/berth/api/v1"
)

// listActions shows actions of the whole fleet, newest first.
func (s *server) listActions(c *gin.Context) (answer, error) {
	p := params{c: c}
	q := ActionQuery{
		Limit: p.number("limit", DefaultPageSize, MaxPageSize), Workload: p.queryName("workload"), Host: p.queryName("host"),
		Verb: oneOf(&p, "verb", v1.VerbDeploy, v1.VerbStart, v1.VerbRestart, v1.VerbRetry, v1.VerbRelocate, v1.VerbStop,
			v1.VerbRemove),
		Outcome: oneOf(&p, "status", v1.OutcomeRunning, v1.OutcomeSucceeded, v1.OutcomeFailed, v1.OutcomeSuperseded),
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
