package rest

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

// route is one operation of the API.
type route struct {
	method string
	path   string
	// scope is what a token needs; ScopeNone is open to everybody.
	scope  Scope
	handle handler
	// query are the names of the query parameters; others are refused.
	query []string
	// body is true if the operation takes one; others are refused.
	body bool
}

// routes is the whole API.
func (s *server) routes() []route {
	const one = "/v1/workloads/:name"
	return []route{
		{http.MethodPut, one, ScopeWrite, s.putWorkload, []string{"dryRun"}, true},
		{http.MethodGet, one, ScopeRead, s.getWorkload, nil, false},
		{http.MethodGet, "/v1/workloads", ScopeRead, s.listWorkloads, []string{"kind", "phase", "host", "label", "limit", "pageToken"}, false},
		{http.MethodDelete, one, ScopeWrite, s.verb(v1.VerbRemove), []string{"force", "volumes"}, false},
		{http.MethodPost, one + "/start", ScopeWrite, s.verb(v1.VerbStart), nil, false},
		{http.MethodPost, one + "/stop", ScopeWrite, s.verb(v1.VerbStop), nil, false},
		{http.MethodPost, one + "/restart", ScopeWrite, s.verb(v1.VerbRestart), nil, false},
		{http.MethodPost, one + "/retry", ScopeWrite, s.verb(v1.VerbRetry), nil, false},
		{http.MethodGet, one + "/logs", ScopeRead, s.getLogs, []string{"tail"}, false},
		{http.MethodGet, one + "/events", ScopeRead, s.listEvents, []string{"limit", "pageToken"}, false},
		{http.MethodGet, one + "/watch", ScopeRead, s.watchEvents, []string{"tail"}, false},
		{http.MethodGet, "/v1/hosts", ScopeRead, s.listHosts, []string{"limit", "pageToken"}, false},
		{http.MethodGet, "/v1/hosts/:name", ScopeRead, s.getHost, nil, false},
		{http.MethodPost, "/v1/hosts/:name/cordon", ScopeAdmin, s.changeHost(cordon(true)), nil, false},
		{http.MethodPost, "/v1/hosts/:name/uncordon", ScopeAdmin, s.changeHost(cordon(false)), nil, false},
		{http.MethodPost, "/v1/hosts/:name/drain", ScopeAdmin, s.changeHost(drain), []string{"deadline", "force", "maxParallel"}, false},
		{http.MethodPost, "/v1/hosts/:name/forget", ScopeAdmin, s.askHost(contract.UpdateForget), nil, false},
		{http.MethodPost, "/v1/hosts/:name/adopt", ScopeAdmin, s.askHost(contract.UpdateAdopt), nil, false},
		{http.MethodPost, "/v1/hosts/:name/runtimes/:runtime/disable", ScopeAdmin, s.changeHost(runtimes(false)), nil, false},
		{http.MethodPost, "/v1/hosts/:name/runtimes/:runtime/enable", ScopeAdmin, s.changeHost(runtimes(true)), nil, false},
		{http.MethodGet, "/v1/actions", ScopeRead, s.listActions, []string{"workload", "verb", "status", "host", "since", "until", "limit", "pageToken"}, false},
		{http.MethodGet, "/v1/actions/*id", ScopeRead, s.getAction, nil, false},
		{http.MethodPost, "/v1/sweeps", ScopeAdmin, s.startSweep, nil, true},
		{http.MethodGet, "/v1/sweeps/:id", ScopeAdmin, s.getSweep, []string{"limit", "pageToken"}, false},
		{http.MethodGet, "/v1/sweep-schedule", ScopeAdmin, s.getSweepSchedule, nil, false},
		{http.MethodPatch, "/v1/sweep-schedule", ScopeAdmin, s.changeSweepSchedule, nil, true},
		{http.MethodGet, "/healthz/live", ScopeNone, s.live, nil, false},
		{http.MethodGet, "/healthz/ready", ScopeNone, s.ready, nil, false},
	}
}

// server holds what the handlers share.
type server struct {
	Dependencies
	admission *admission
	health    *healthCache
	// watchers holds one token for each that watches.
	watchers  chan struct{}
	watchBeat time.Duration
}

// NewHandler returns the API.
func NewHandler(cfg Config, d Dependencies) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	s := &server{
		Dependencies: d, admission: newAdmission(cfg.Writes, cfg.Queue, cfg.QueueWait, d.Closing), health: &healthCache{},
		watchers: make(chan struct{}, cfg.Watchers), watchBeat: cfg.WatchBeat,
	}
	engine := gin.New()
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false
	engine.RedirectFixedPath = false
	engine.Use(requestID, accessLog(d.Logger), recovery(d.Logger), noBrowserTricks(d.Auth == nil), limitBody)
	for _, r := range s.routes() {
		engine.Handle(r.method, r.path, s.authorize(r.scope), s.admit(r), s.respond(r))
	}
	engine.NoRoute(respondError(errNoRoute))
	engine.NoMethod(respondError(errNoMethod))
	return engine
}
