package main

import (
	"time"

	"github.com/spf13/pflag"

	v1 "github.com/berth-dev/berth/api/v1"
)

// durationFlag reads a length of time as specs do, and says what is wrong with one in the same words.
type durationFlag time.Duration

// durationVar defines a flag for a length of time. A default of nothing is not shown: the usage says what it means.
func durationVar(f *pflag.FlagSet, p *time.Duration, name string, value time.Duration, usage string) {
	*p = value
	f.Var((*durationFlag)(p), name, usage)
}

func (d *durationFlag) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

func (d *durationFlag) Set(text string) error {
	parsed, err := v1.ParseDuration(text)
	if err == nil {
		*d = durationFlag(parsed)
	}
	return err
}

// Type is what help calls the value.
func (d *durationFlag) Type() string { return "duration" }
