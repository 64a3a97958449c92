package rest

import "github.com/gin-gonic/gin"

// getLogs shows the last lines of a container's log or a serial console.
func (s *server) getLogs(c *gin.Context) (answer, error) {
	p := params{c: c}
	name, tail := p.pathName(), p.number("tail", DefaultTail, MaxTail)
	if err := p.err(); err != nil {
		return answer{}, err
	}
	logs, err := s.Backend.Logs(c.Request.Context(), name, tail)
	if err != nil {
		return answer{}, err
	}
	return ok(logs)
}
