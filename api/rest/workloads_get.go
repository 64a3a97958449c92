package rest

import (
	"net/http"

	"github.com/gin-gonic/gin"

	v1 "github.com/berth-dev/berth/api/v1"
)

// getWorkload shows one workload; its ETag is the generation. Callers who may not write see no secret values.
func (s *server) getWorkload(c *gin.Context) (answer, error) {
	p := params{c: c}
	name := p.pathName()
	if err := p.err(); err != nil {
		return answer{}, err
	}
	view, err := s.Backend.Workload(c.Request.Context(), name, mayReadSecrets(c))
	if err != nil {
		return answer{}, err
	}
	return answer{
		status: http.StatusOK, body: view, headers: map[string]string{"ETag": etag(view.Status.Generation)},
	}, nil
}

// listWorkloads shows one page of workloads.
func (s *server) listWorkloads(c *gin.Context) (answer, error) {
	p := params{c: c}
	q := WorkloadQuery{
		Page: p.page(), Host: p.queryName("host"),
		Kind: oneOf(&p, "kind", v1.KindContainer, v1.KindVM, v1.KindCompose),
		Phase: oneOf(&p, "phase", v1.PhasePending, v1.PhaseDeploying, v1.PhaseRunning, v1.PhaseDegraded, v1.PhaseStopping,
			v1.PhaseStopped, v1.PhaseSucceeded, v1.PhaseFailed, v1.PhaseLost, v1.PhaseRemoving),
	}
	if err := p.err(); err != nil {
		return answer{}, err
	}
	var err error
	if q.Labels, err = v1.ParseLabelSelector(c.Query("label")); err != nil {
		return answer{}, err
	}
	list, err := s.Backend.Workloads(c.Request.Context(), q)
	if err != nil {
		return answer{}, err
	}
	return ok(list)
}
