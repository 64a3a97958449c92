package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-isatty"

	v1 "github.com/berth-dev/berth/api/v1"
)

// plainEvery is how often a step's progress is told where nothing can be redrawn.
const plainEvery = 10 * time.Second

// screen shows progress: bars that are redrawn on a terminal, a line a change elsewhere.
type screen struct {
	w     io.Writer
	live  bool
	drawn int
	start time.Time
	now   func() time.Time
	meter meter
	told  map[string]string
	// toldAt is when a step's progress was told last.
	toldAt map[string]time.Time
}

func newScreen(w io.Writer) *screen {
	s := &screen{w: w, now: time.Now, meter: meter{}, told: map[string]string{}, toldAt: map[string]time.Time{}}
	if f, ok := w.(*os.File); ok {
		s.live = isatty.IsTerminal(f.Fd()) && os.Getenv("TERM") != "dumb"
	}
	s.start = s.now()
	return s
}

// show draws the workloads that are waited for.
func (s *screen) show(views []v1.View) {
	if s.live {
		s.redraw(views)
		return
	}
	for _, view := range views {
		s.tell(view.Metadata.Name, describe(view.Status))
		for _, p := range view.Progress {
			s.tellStep(view.Metadata.Name, p)
		}
	}
}

func (s *screen) redraw(views []v1.View) {
	s.erase()
	for _, view := range views {
		s.line("%s  %s", view.Metadata.Name, clip(describe(view.Status), 100))
		for _, p := range view.Progress {
			s.line("  %s", s.meter.bar(view.Metadata.Name, p, s.now()))
			if p.LastFailure != "" {
				s.line("    attempt %d; before: %s", p.Attempt, clip(oneLine(p.LastFailure), 90))
			}
		}
	}
}

func (s *screen) line(format string, args ...any) {
	fmt.Fprintf(s.w, format+"\n", args...)
	s.drawn++
}

// erase goes back to where the last drawing began.
func (s *screen) erase() {
	if s.drawn > 0 {
		fmt.Fprintf(s.w, "\x1b[%dA\x1b[J", s.drawn)
		s.drawn = 0
	}
}

// tell writes a line if it says something else than the one before about the same thing.
func (s *screen) tell(about, text string) {
	if s.told[about] != text {
		s.told[about] = text
		fmt.Fprintf(s.w, "%s: %s\n", about, text)
	}
}

// tellStep tells that a step began, and from time to time how far it is.
func (s *screen) tellStep(workload string, p v1.Progress) {
	about := workload + " " + p.Step
	began := fmt.Sprintf("%s: attempt %d %s", p.Step, p.Attempt, p.LastFailure)
	now := s.now()
	if s.told[about] == began && now.Sub(s.toldAt[about]) < plainEvery {
		return
	}
	s.told[about], s.toldAt[about] = began, now
	fmt.Fprintf(s.w, "%s: %s\n", workload, oneLine(s.meter.text(workload, p, now)))
}

// done tells that a goal is reached.
func (s *screen) done(g goal, view v1.View) {
	s.erase()
	took := s.now().Sub(s.start).Round(100 * time.Millisecond)
	if g.want == wantGone {
		fmt.Fprintf(s.w, "%s: removed (%s)\n", g.name, took)
		return
	}
	fmt.Fprintf(s.w, "%s: %s (%s)\n", g.name, describe(view.Status), took)
}

func (s *screen) close() { s.erase() }

// describe is a status on one line, for somebody who waits.
func describe(s v1.Status) string {
	text := explain(s)
	if s.Host != "" {
		text = strings.Replace(text, string(s.Phase), string(s.Phase)+" on "+s.Host, 1)
	}
	if s.NextTry != nil {
		text += "; next try at " + s.NextTry.Local().Format("15:04:05")
	}
	return text
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func clip(s string, limit int) string {
	if runes := []rune(s); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return s
}
