package rest

import (
	"net/http"

	"github.com/gin-gonic/gin"

	v1 "github.com/berth-dev/berth/api/v1"
)

// verb records start, stop, restart, retry or remove; 202 says that it is recorded, not that it is done.
func (s *server) verb(verb v1.Verb) handler {
	return func(c *gin.Context) (answer, error) {
		p := params{c: c}
		name, request := p.pathName(), p.request()
		request.Force, request.Volumes = p.flag("force"), p.flag("volumes") // other verbs refuse them as unknown
		if err := p.err(); err != nil {
			return answer{}, err
		}
		accepted, err := s.Backend.Do(c.Request.Context(), name, verb, request)
		if err != nil {
			return answer{}, err
		}
		return answer{status: http.StatusAccepted, body: accepted}, nil
	}
}
