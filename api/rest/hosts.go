package rest

import "github.com/gin-gonic/gin"

// listHosts shows one page of hosts.
func (s *server) listHosts(c *gin.Context) (answer, error) {
	p := params{c: c}
	page := p.page()
	if err := p.err(); err != nil {
		return answer{}, err
	}
	list, err := s.Backend.Hosts(c.Request.Context(), page)
	if err != nil {
		return answer{}, err
	}
	return ok(list)
}

// getHost shows one host.
func (s *server) getHost(c *gin.Context) (answer, error) {
	p := params{c: c}
	name := p.pathName()
	if err := p.err(); err != nil {
		return answer{}, err
	}
	host, err := s.Backend.Host(c.Request.Context(), name)
	if err != nil {
		return answer{}, err
	}
	return ok(host)
}
