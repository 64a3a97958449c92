package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/berth-dev/berth/activities/synthetic"
	v1 "github.com/berth-dev/berth/api/v1"
	"github.com/berth-dev/berth/workers/config"
)

// maxSyntheticHosts bounds the synthetic hosts of one process: each polls three times and beats.
const maxSyntheticHosts = 1000

// syntheticSettings are for hosts that run everything in memory.
type syntheticSettings struct {
	on          bool
	delays      map[string]string
	failures    map[string]string
	jobTime     time.Duration
	jobFailures string
	serviceTime time.Duration

	parsed synthetic.Config
}

func (s *syntheticSettings) define(f *pflag.FlagSet) {
	f.BoolVar(&s.on, "synthetic", false, "run workloads in memory only, instead of Docker and libvirt: for large fleets on one machine")
	f.StringToStringVar(&s.delays, "synthetic-delay", nil, "how long steps take there, as start=200ms,stop=1s (default: no time)")
	f.StringToStringVar(&s.failures, "synthetic-fail", nil, "how often steps fail there, as start=0.01 (default: never)")
	durationVar(f, &s.jobTime, "synthetic-job-time", time.Second, "how long a job's attempt runs there")
	f.StringVar(&s.jobFailures, "synthetic-job-fail", "0", "how often a job's attempt exits with code 1 there, from 0 to 1")
	durationVar(f, &s.serviceTime, "synthetic-service-time", 0, "after how long a service exits there (default: never)")
}

func (s *syntheticSettings) check(m *config.Mistakes) {
	var err error
	s.parsed.Delays, err = synthetic.ParseDelays(s.delays)
	m.Check("synthetic-delay", err)
	s.parsed.Failures, err = synthetic.ParseFailures(s.failures)
	m.Check("synthetic-fail", err)
	s.parsed.JobFailures, err = synthetic.ParseRate(s.jobFailures)
	m.Check("synthetic-job-fail", err)
	m.Require(s.jobTime >= 0, "synthetic-job-time", "must not be less than nothing")
	m.Require(s.serviceTime >= 0, "synthetic-service-time", "must not be less than nothing")
	s.parsed.JobTime, s.parsed.ServiceTime = s.jobTime, s.serviceTime
}

// config is what was checked, or nil if hosts are real.
func (s *syntheticSettings) config() *synthetic.Config {
	if !s.on {
		return nil
	}
	return &s.parsed
}

// args are the settings as arguments of another berth process.
func (s *syntheticSettings) args() []string {
	if !s.on {
		return nil
	}
	out := []string{
		"--synthetic", "--synthetic-job-time", s.jobTime.String(), "--synthetic-job-fail", s.jobFailures,
		"--synthetic-service-time", s.serviceTime.String(),
	}
	for _, pair := range sortedPairs(s.delays) {
		out = append(out, "--synthetic-delay", pair)
	}
	for _, pair := range sortedPairs(s.failures) {
		out = append(out, "--synthetic-fail", pair)
	}
	return out
}

// syntheticCapacity is what a synthetic host offers where nothing else is set: it has no machine whose capacity could be
// read.
func syntheticCapacity(set v1.Amounts) v1.Amounts {
	if set.CPUs == 0 {
		set.CPUs = 32_000
	}
	if set.Memory == 0 {
		set.Memory = 128 << 30
	}
	if set.Disk == 0 {
		set.Disk = 2 << 40
	}
	return set
}
