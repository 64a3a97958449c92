package rest

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// listEvents shows what changed of a workload.
func (s *server) listEvents(c *gin.Context) (answer, error) {
	p := params{c: c}
	name, page := p.pathName(), p.page()
	if err := p.err(); err != nil {
		return answer{}, err
	}
	list, err := s.Backend.Events(c.Request.Context(), name, page)
	if err != nil {
		return answer{}, err
	}
	return ok(list)
}

// watchEvents streams what changes of a workload. EventSource sends Last-Event-ID by itself when it connects again, and
// does not come again after a 204.
func (s *server) watchEvents(c *gin.Context) (answer, error) {
	p := params{c: c}
	name, after, tail := p.pathName(), c.GetHeader("Last-Event-ID"), 0
	if c.Query("tail") != "0" {
		tail = p.number("tail", DefaultEventTail, MaxPageSize)
	}
	if len(after) > maxEventID {
		p.errs = append(p.errs, invalid("Last-Event-ID", "is not the id of an event")...)
	}
	if err := p.err(); err != nil {
		return answer{}, err
	}
	watch, err := s.Backend.Watch(c.Request.Context(), name, after, tail)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusNoContent, stream: watch}, nil
}
