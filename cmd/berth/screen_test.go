package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v1 "github.com/berth-dev/berth/api/v1"
)

func TestMeter(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	fetch := func(done int64) v1.Progress {
		return v1.Progress{Step: "vm.Prepare", Detail: "fetching base.qcow2", Done: done, Total: 400 << 20}
	}
	m := meter{}
	require.Equal(t, "[            "+strings.Repeat(" ", 12)+"] vm.Prepare fetching base.qcow2 0 B of 400.0 MiB (0%)", m.bar("web", fetch(0), start))
	require.Equal(t, "[============"+strings.Repeat(" ", 12)+"] vm.Prepare fetching base.qcow2 200.0 MiB of 400.0 MiB (50%), 100.0 MiB/s",
		m.bar("web", fetch(200<<20), start.Add(2*time.Second)))
	require.Contains(t, m.bar("web", fetch(500<<20), start.Add(4*time.Second)), "(100%)", "never more than all")
	require.NotContains(t, m.text("web", fetch(1<<20), start.Add(5*time.Second)), "/s", "a new attempt begins anew")

	boot := v1.Progress{Step: "vm.AwaitReady", Done: 37_400, Total: 300_000, Unit: "ms"}
	require.Equal(t, "vm.AwaitReady 37s of at most 5m0s", m.text("web", boot, start))
	require.Equal(t, "Bind", m.text("web", v1.Progress{Step: "Bind"}, start))
}

func TestPlainScreenTellsChangesOnly(t *testing.T) {
	var out strings.Builder
	s := newScreen(&out)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s.now = func() time.Time { return now }
	s.start = now
	view := v1.View{
		Metadata: v1.Metadata{Name: "web"}, Status: v1.Status{Phase: v1.PhaseDeploying, Host: "h1"},
		Progress: []v1.Progress{{Step: "vm.Prepare", Done: 1, Total: 10, Attempt: 1}},
	}
	for range 30 {
		s.show([]v1.View{view})
		view.Progress[0].Done++
		now = now.Add(500 * time.Millisecond)
	}
	view.Progress[0].Attempt, view.Progress[0].LastFailure = 2, "FetchStalled"
	s.show([]v1.View{view})
	view.Status.Phase = v1.PhaseRunning
	s.done(goal{name: "web"}, view)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Equal(t, "web: Deploying on h1", lines[0])
	require.Len(t, lines, 5, "phase, step, once more after ten seconds, the second attempt, the end:\n%s", out.String())
	require.Equal(t, "web: Running on h1 (15s)", lines[4])
	require.NotContains(t, out.String(), "\x1b")
}

func TestLiveScreenRedrawsItsOwnLines(t *testing.T) {
	var out strings.Builder
	s := newScreen(&out)
	s.live = true
	view := v1.View{Metadata: v1.Metadata{Name: "web"}, Progress: []v1.Progress{{Step: "vm.Prepare", LastFailure: "stalled\nbadly"}}}
	s.show([]v1.View{view})
	require.Equal(t, 3, s.drawn)
	require.Equal(t, 3, strings.Count(out.String(), "\n"))
	out.Reset()
	s.show(nil)
	require.Equal(t, "\x1b[3A\x1b[J", out.String())
}
