package rest

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	v1 "github.com/berth-dev/berth/api/v1"
)

const (
	healthFresh  = time.Second
	healthWithin = 5 * time.Second
)

// healthCache keeps the last answer for a moment: nobody needs a token to ask, and asking costs calls to Temporal.
type healthCache struct {
	mu     sync.Mutex
	at     time.Time
	health v1.Health
}

// live says that the process serves requests.
func (s *server) live(*gin.Context) (answer, error) { return ok(v1.Health{OK: true}) }

// ready says whether the server can take work, and if not, everything that is missing.
func (s *server) ready(c *gin.Context) (answer, error) {
	health := s.health.get(c.Request.Context(), s.Backend)
	status := http.StatusOK
	if !health.OK {
		status = http.StatusServiceUnavailable
	}
	return answer{status: status, body: health}, nil
}

func (h *healthCache) get(ctx context.Context, backend Backend) v1.Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.at) < healthFresh {
		return h.health
	}
	// The answer is for others too: it does not end with this caller.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthWithin)
	defer cancel()
	h.health = v1.Health{OK: true, Checks: backend.Checks(ctx)}
	for _, check := range h.health.Checks {
		h.health.OK = h.health.OK && check.OK
	}
	h.at = time.Now()
	return h.health
}
