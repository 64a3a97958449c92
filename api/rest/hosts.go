package rest

import (
	"github.com/gin-gonic/gin"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

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

// changeHost does what an admin asks of a host.
func (s *server) changeHost(change func(*params) contract.HostChange) handler {
	return func(c *gin.Context) (answer, error) {
		p := params{c: c}
		name, wanted := p.pathName(), change(&p)
		if err := p.err(); err != nil {
			return answer{}, err
		}
		host, err := s.Backend.ChangeHost(c.Request.Context(), name, wanted)
		if err != nil {
			return answer{}, err
		}
		return ok(host)
	}
}

// askHost forgets or adopts a host.
func (s *server) askHost(update string) handler {
	return func(c *gin.Context) (answer, error) {
		p := params{c: c}
		name := p.pathName()
		if err := p.err(); err != nil {
			return answer{}, err
		}
		host, err := s.Backend.AskHost(c.Request.Context(), name, update)
		if err != nil {
			return answer{}, err
		}
		return ok(host)
	}
}

// cordon keeps new work away from a host, or lets it in again.
func cordon(on bool) func(*params) contract.HostChange {
	return func(*params) contract.HostChange { return contract.HostChange{Cordon: &on} }
}

// drain empties a host.
func drain(p *params) contract.HostChange {
	request := v1.DrainRequest{Deadline: p.duration("deadline"), Force: p.flag("force"), MaxParallel: p.number("maxParallel", 0, v1.MaxDrainParallel)}
	p.check(request.Validate())
	return contract.HostChange{Drain: &request}
}

// runtimes switches a host's runtime on or off.
func runtimes(on bool) func(*params) contract.HostChange {
	return func(p *params) contract.HostChange {
		name := []string{p.pathRuntime()}
		if on {
			return contract.HostChange{EnableRuntimes: name}
		}
		return contract.HostChange{DisableRuntimes: name}
	}
}
