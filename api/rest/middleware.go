package rest

import (
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workflows/contract"
)

const (
	keyRequestID    = "berth.request"
	headerRequestID = "X-Request-Id"
)

var safeID = regexp.MustCompile(`^[A-Za-z0-9._:/+=-]{1,128}$`)

// requestID gives each request a name for logs and answers: the caller's, if it is fit to be printed.
func requestID(c *gin.Context) {
	id := c.GetHeader(headerRequestID)
	if !safeID.MatchString(id) {
		id = uuid.NewString()
	}
	c.Set(keyRequestID, id)
	c.Header(headerRequestID, id)
}

// accessLog writes a line a request. Queries, headers and bodies are left out: they may hold secrets.
func accessLog(logger *slog.Logger) gin.HandlerFunc {
	return func(c *gin.Context) {
		start := time.Now()
		c.Next()
		status := c.Writer.Status()
		level := slog.LevelInfo
		switch {
		case status >= http.StatusInternalServerError:
			level = slog.LevelWarn
		case c.FullPath() == "/healthz/live" || c.FullPath() == "/healthz/ready":
			level = slog.LevelDebug
		}
		attrs := []any{
			"method", c.Request.Method, "path", c.FullPath(), "status", status, "duration", time.Since(start),
			"request", c.GetString(keyRequestID), "remote", c.Request.RemoteAddr,
		}
		if name := c.Param("name"); v1.ValidateName(name) == nil {
			what := "workload"
			if strings.HasPrefix(c.FullPath(), "/v1/hosts/") {
				what = "host"
			}
			attrs = append(attrs, what, name)
		}
		if token := c.GetString(keyToken); token != "" {
			attrs = append(attrs, "token", token)
		}
		if err := c.Errors.Last(); err != nil {
			attrs = append(attrs, "error", err.Err)
		}
		logger.Log(c.Request.Context(), level, "request", attrs...)
	}
}

// recovery answers a panic as an internal error and logs where it came from.
func recovery(logger *slog.Logger) gin.HandlerFunc {
	return func(c *gin.Context) {
		defer func() {
			if cause := recover(); cause != nil {
				logger.ErrorContext(c.Request.Context(), "a handler panicked",
					"request", c.GetString(keyRequestID), "cause", cause, "stack", string(debug.Stack()))
				writeProblem(c, contract.Retryable(v1.ReasonInternal, "look for the request id in the server's logs", "the server failed"))
			}
		}()
		c.Next()
	}
}

// limitBody bounds what a handler can read of a body.
func limitBody(c *gin.Context) {
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, MaxBodyBytes)
}

// noBrowserTricks refuses changes that a web page of another origin makes a browser send, and, where no token is
// needed, requests for any name but the loopback's: a page could point a name of its own there.
func noBrowserTricks(open bool) gin.HandlerFunc {
	protection := http.NewCrossOriginProtection()
	return func(c *gin.Context) {
		if err := protection.Check(c.Request); err != nil {
			writeProblem(c, contract.Permanent(v1.ReasonForbidden, "", "a page of another origin may not change anything here"))
			return
		}
		if open && !isLoopbackHost(c.Request.Host) {
			writeProblem(c, contract.Permanent(v1.ReasonForbidden, "use 127.0.0.1 or localhost, or start the server with tokens",
				"a server without tokens answers only to the name of the loopback"))
		}
	}
}

// ListensOnLoopback reports whether an address to listen on can be reached from this machine only.
func ListensOnLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	return err == nil && isLoopbackHost(host)
}

func isLoopbackHost(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
