package main

import (
	"fmt"
	"strings"
	"time"

	v1 "github.com/berth-dev/berth/api/v1"
)

const (
	barWidth = 24
	// rateOver is the time over which a rate is measured.
	rateOver = 3 * time.Second
)

// meter remembers how far steps were, for their rates.
type meter map[string]*mark

type mark struct {
	at   time.Time
	done int64
	rate float64
}

// rate is in units a second, measured over the last few seconds.
func (m meter) rate(workload string, p v1.Progress, now time.Time) float64 {
	key := workload + "\x00" + p.Step + "\x00" + p.Detail
	last, known := m[key]
	if !known || p.Done < last.done {
		m[key] = &mark{at: now, done: p.Done}
		return 0
	}
	elapsed := now.Sub(last.at)
	if elapsed > 0 && (last.rate == 0 || elapsed >= rateOver) {
		last.rate = float64(p.Done-last.done) / elapsed.Seconds()
	}
	if elapsed >= rateOver {
		last.at, last.done = now, p.Done
	}
	return last.rate
}

// bar is a step on a terminal: a bar if the total is known, then text.
func (m meter) bar(workload string, p v1.Progress, now time.Time) string {
	text := m.text(workload, p, now)
	if p.Total <= 0 {
		return text
	}
	full := int(min(p.Done, p.Total) * barWidth / p.Total)
	return "[" + strings.Repeat("=", full) + strings.Repeat(" ", barWidth-full) + "] " + text
}

// text is how far a step is: bytes and rate for what moves data, elapsed time for what waits.
func (m meter) text(workload string, p v1.Progress, now time.Time) string {
	text := p.Step
	if p.Detail != "" {
		text += " " + p.Detail
	}
	if p.Unit == "ms" {
		text += " " + seconds(p.Done)
		if p.Total > 0 {
			text += " of at most " + seconds(p.Total)
		}
		return text
	}
	if p.Done == 0 && p.Total == 0 {
		return text
	}
	text += " " + bytes(float64(p.Done))
	if p.Total > 0 {
		text += fmt.Sprintf(" of %s (%d%%)", bytes(float64(p.Total)), min(p.Done, p.Total)*100/p.Total)
	}
	if rate := m.rate(workload, p, now); rate > 0 {
		text += ", " + bytes(rate) + "/s"
	}
	return text
}

func seconds(ms int64) string {
	return (time.Duration(ms) * time.Millisecond).Round(time.Second).String()
}

func bytes(n float64) string {
	if n < 0 {
		return "-" + bytes(-n) // a host may offer less than it gave out before
	}
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for n >= 1024 && i < len(units)-1 {
		n, i = n/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%.0f %s", n, units[i])
	}
	return fmt.Sprintf("%.1f %s", n, units[i])
}
