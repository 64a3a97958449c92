package rest

import (
	"log/slog"
	"time"
)

// Limits of requests.
const (
	// MaxBodyBytes is the size of the largest request body.
	MaxBodyBytes = 256 << 10
	// MaxPageSize and DefaultPageSize are of lists.
	MaxPageSize     = 200
	DefaultPageSize = 50
	// MaxTail and DefaultTail are lines of a log.
	MaxTail     = 5000
	DefaultTail = 100
	// DefaultEventTail is how many events a watch begins with.
	DefaultEventTail = 10
	maxEventID       = 128
	// readWithin bounds the answer to a request that only reads.
	readWithin = 15 * time.Second
)

// Config says how the API is served.
type Config struct {
	// Listen is the address, for example "127.0.0.1:8080".
	Listen string
	// Tokens is the file of token hashes. Empty means that nobody is asked for a token: only for loopback.
	Tokens string
	// CertFile and KeyFile turn on TLS.
	CertFile string
	KeyFile  string
	// Writes bounds how many changes are worked on at once, and Queue how many may wait for that, for at most QueueWait.
	Writes    int
	Queue     int
	QueueWait time.Duration
	// Watchers bounds how many watch at once. WatchBeat is how often they are told that the server is there.
	Watchers  int
	WatchBeat time.Duration
}

// Dependencies are what the handlers stand on.
type Dependencies struct {
	Backend Backend
	Logger  *slog.Logger
	// Auth is nil if nobody is asked for a token.
	Auth *Authenticator
	// Closing, if set, is closed when the server stops: streams end, so that clients go to another server.
	Closing <-chan struct{}
}
