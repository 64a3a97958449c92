package main

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/pflag"

	"github.com/berth-dev/berth/workers/config"
	"github.com/berth-dev/berth/workers/temporal"
	"github.com/berth-dev/berth/workflows/contract"
)

// connectPatience is how long a server waits for Temporal when it starts.
const connectPatience = 5 * time.Minute

// temporalSettings are the settings of a process that speaks to Temporal.
type temporalSettings struct{ temporal.Options }

func (s *temporalSettings) define(f *pflag.FlagSet) {
	f.StringVar(&s.Address, "temporal-address", "", "host:port of Temporal (default: Temporal's own configuration, else localhost:7233)")
	f.StringVar(&s.Namespace, "namespace", "", "Temporal namespace (default: Temporal's own configuration, else default)")
	f.StringVar(&s.Profile, "temporal-profile", "", "profile of Temporal's own configuration file")
	f.StringVar(&s.KeyFile, "key-file", "", "keys that encrypt all that goes to Temporal, made by 'berth key new'")
}

// logSettings say what is logged, and how.
type logSettings struct{ level, format string }

func (s *logSettings) define(f *pflag.FlagSet) {
	f.StringVar(&s.level, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&s.format, "log-format", "text", "text or json")
}

// logger returns the process's logger, and notes mistakes in its settings.
func (s *logSettings) logger(w io.Writer, m *config.Mistakes) *slog.Logger {
	var level slog.Level
	m.Check("log-level", level.UnmarshalText([]byte(s.level)))
	options := &slog.HandlerOptions{Level: level}
	switch s.format {
	case "json":
		return slog.New(slog.NewJSONHandler(w, options))
	case "text":
	default:
		m.Add("log-format", "must be text or json")
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// timingSettings are the fleet-wide durations. The first server or agent of a fleet to speak brings them.
type timingSettings struct{ contract.Timings }

func (s *timingSettings) define(f *pflag.FlagSet) {
	s.Timings = contract.DefaultTimings()
	durationVar(f, &s.Beat, "beat", s.Beat, "how often an agent renews its lease")
	durationVar(f, &s.Lease, "lease", s.Lease, "how long a lease lasts without a beat")
	durationVar(f, &s.Grace, "grace", s.Grace, "how long a lost host's workloads wait before any move")
	durationVar(f, &s.Grant, "grant", s.Grant, "how long a reservation lasts unless it is bound")
	durationVar(f, &s.BackoffMin, "backoff-min", s.BackoffMin, "the first pause after a failure")
	durationVar(f, &s.BackoffMax, "backoff-max", s.BackoffMax, "the longest pause after failures")
	durationVar(f, &s.ActivityHeartbeat, "activity-heartbeat", s.ActivityHeartbeat, "how long a step may show no sign of life")
	f.IntVar(&s.ContinueAsNewAt, "continue-as-new-at", s.ContinueAsNewAt, "events after which an entity's history begins anew")
}

func (s *timingSettings) check(m *config.Mistakes) {
	for name, d := range map[string]time.Duration{
		"beat": s.Beat, "grace": s.Grace, "grant": s.Grant, "backoff-min": s.BackoffMin, "activity-heartbeat": s.ActivityHeartbeat,
	} {
		m.Require(d > 0, name, "must be more than nothing")
	}
	m.Require(s.Lease >= 2*s.Beat, "lease", "must be at least two beats (%s)", 2*s.Beat)
	m.Require(s.BackoffMax >= s.BackoffMin, "backoff-max", "must be at least backoff-min (%s)", s.BackoffMin)
	m.Require(s.ContinueAsNewAt >= 20, "continue-as-new-at", "must be at least 20")
}

// args are the settings as arguments of another berth process.
func (s *timingSettings) args() []string {
	return []string{
		"--beat", s.Beat.String(), "--lease", s.Lease.String(), "--grace", s.Grace.String(), "--grant", s.Grant.String(),
		"--backoff-min", s.BackoffMin.String(), "--backoff-max", s.BackoffMax.String(),
		"--activity-heartbeat", s.ActivityHeartbeat.String(), "--continue-as-new-at", fmt.Sprint(s.ContinueAsNewAt),
	}
}
